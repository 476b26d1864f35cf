/* Reading JSON piece by piece, and as values. */
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vv_error error;

/* The parts of a text, a word for each; "!" at the end if it is refused. */
static const char *parts_of(const char *text, size_t length) {
    static const char *const names[] = {"end", "null", "false", "true", "",  "",
                                        "",    "",     "{",     "}",    "[", "]"};
    static char out[4096];
    struct vv_json json = {.text = {text, length}};
    enum vv_json_part part = VV_JSON_NULL;
    size_t used = 0;
    int status = VV_OK;
    out[0] = 0;
    while (status == VV_OK && part != VV_JSON_END) {
        status = vv_json_next(&json, &part, &error);
        size_t room = sizeof out - used;
        const char *gap = used > 0 ? " " : "";
        if (status != VV_OK) {
            used += (size_t)snprintf(out + used, room, "%s!", gap);
        } else if (part == VV_JSON_INTEGER || part == VV_JSON_REAL) {
            used += (size_t)snprintf(out + used, room, "%s%s(%.*s)", gap,
                                     part == VV_JSON_REAL ? "real" : "int", (int)json.number.length,
                                     json.number.at);
        } else if (part == VV_JSON_STRING || part == VV_JSON_KEY) {
            used += (size_t)snprintf(out + used, room, "%s%s(%.*s)", gap,
                                     part == VV_JSON_KEY ? "key" : "str", (int)json.string.length,
                                     json.string.length ? json.string.at : "");
        } else {
            used += (size_t)snprintf(out + used, room, "%s%s", gap, names[part]);
        }
    }
    vv_bytes_free(&json.string);
    return out;
}

static const char *parts(const char *text) {
    return parts_of(text, strlen(text));
}

static void values_of_all_kinds_are_read(void **state) {
    (void)state;
    assert_string_equal(parts("null"), "null end");
    assert_string_equal(parts(" \t\r\n true "), "true end");
    assert_string_equal(parts("[1, -0, 2.5, 1e3, -1E-2, 0.0]"),
                        "[ int(1) int(-0) real(2.5) real(1e3) real(-1E-2) real(0.0) ] end");
    assert_string_equal(parts("{\"a\": [], \"b\": {}, \"a\": false}"),
                        "{ key(a) [ ] key(b) { } key(a) false } end");
    assert_string_equal(parts("[[[\"x\"]],{\"k\":[null]}]"),
                        "[ [ [ str(x) ] ] { key(k) [ null ] } ] end");
    assert_string_equal(parts("\"\""), "str() end");
}

static void escapes_are_resolved(void **state) {
    (void)state;
    assert_string_equal(parts("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "str(\"\\/\b\f\n\r\t) end");
    assert_string_equal(parts("\"\\u0041\\u00e9\\u20AC\""), "str(A\xc3\xa9\xe2\x82\xac) end");
    assert_string_equal(parts("\"\\ud83d\\ude00\""), "str(\xf0\x9f\x98\x80) end");
    /* A surrogate without the other half has no text. */
    assert_string_equal(parts("\"\\ud83d\""), "str(\xef\xbf\xbd) end");
    assert_string_equal(parts("\"\\ude00x\""), "str(\xef\xbf\xbdx) end");
    assert_string_equal(parts("\"\\ud83d\\u0041\""), "str(\xef\xbf\xbd"
                                                     "A) end");
    assert_string_equal(parts("\"\\ud83d\\ud83d\\ude00\""),
                        "str(\xef\xbf\xbd\xf0\x9f\x98\x80) end");
    struct vv_json json = {.text = {"\"a\\u0000b\"", 10}};
    enum vv_json_part part;
    assert_int_equal(vv_json_next(&json, &part, &error), VV_OK);
    assert_int_equal(json.string.length, 3);
    assert_memory_equal(json.string.at, "a\0b", 3);
    vv_bytes_free(&json.string);
}

static void what_is_no_json_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",          "nul",       "True",       "NaN",         "-",
        "01",        "+1",        ".5",         "1.",          "1e",
        "1e+",       "0x1",       "'a'",        "\"a",         "\"\\x\"",
        "\"\\u12\"", "\"\t\"",    "\"\x7f",     "[",           "[1",
        "[1,]",      "[,1]",      "[1 2]",      "]",           "{",
        "{\"a\"}",   "{\"a\":}",  "{\"a\":1,}", "{a:1}",       "{1:2}",
        "{\"a\" 1}", "{,}",       "[}",         "{]",          "1 2",
        "[] []",     "\"\xff\"",  "\"\xc3\"",   "//",          "[1]x",
        "\"a\nb\"",  "{\"a\":1]", "[\"a\":1]",  "\"\\u00g0\"", "\"\xed\xa0\x80\"",
        "tru",       "--1",       "1.e5",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *found = parts(wrong[i]);
        if (found[strlen(found) - 1] != '!') {
            fail_msg("%s was read as %s", wrong[i], found);
        }
    }
    assert_string_equal(parts_of("\"a\0b\"", 5), "!");
    parts("[1, 2, x]");
    assert_string_equal(error.message,
                        "this is not JSON: something that begins no value at byte 7");
}

static void depth_is_limited(void **state) {
    (void)state;
    char text[2 * VV_JSON_DEPTH + 4];
    memset(text, '[', sizeof text);
    memset(text + VV_JSON_DEPTH, ']', VV_JSON_DEPTH);
    const char *found = parts_of(text, 2 * VV_JSON_DEPTH);
    assert_string_equal(found + strlen(found) - 3, "end");
    memset(text, '[', sizeof text);
    memset(text + VV_JSON_DEPTH + 1, ']', VV_JSON_DEPTH + 1);
    found = parts_of(text, 2 * VV_JSON_DEPTH + 2);
    assert_string_equal(found + strlen(found) - 1, "!");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_all_kinds_are_read),
        cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
