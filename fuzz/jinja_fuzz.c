/*
 * Any bytes as a template, rendered with variables that are any JSON: the two are parted by the
 * first byte 0x1e, without which the variables are a fixed conversation. Nothing may crash, hang or
 * leak; the pieces of a rendering are its text, well-formed and with marks that alternate; a second
 * rendering is the same; and what has no data in it has no piece of data.
 */
#include "text/jinja/jinja.h"
#include "text/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", "
    "\"content\": \"Hi, é😀 <b>\"}, {\"role\": \"assistant\", \"content\": \"x\\n\\n\", "
    "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": [1, 2.5, null, "
    "true], "
    "\"b\": \"c\"}}}]}, {\"role\": \"tool\", \"content\": \"\"}], \"tools\": [{\"type\": "
    "\"function\", \"function\": {\"name\": \"f\", \"parameters\": {}}}], \"n\": 7, \"x\": "
    "\"abc\"}";

static struct vv_error error;

static void must(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_pieces(const struct vv_jinja_rendering *r) {
    size_t length = 0;
    for (size_t i = 0; i < r->count; i++) {
        must(r->pieces[i].text.at == r->text.at + length && r->pieces[i].text.length > 0);
        must(i == 0 || r->pieces[i].data != r->pieces[i - 1].data);
        length += r->pieces[i].text.length;
    }
    must(length == r->text.length);
    for (size_t at = 0, n; at < length; at += n) {
        n = vv_utf8_length(r->text.at + at, length - at);
        must(n > 0);
    }
}

static int render(const struct vv_jinja *template, const struct vv_value *variables,
                  struct vv_jinja_rendering *out) {
    static const struct tm now = {.tm_year = 126, .tm_mday = 1};
    const struct vv_jinja_options options = {
        .limits = {.steps = 20000, .depth = 300, .memory = 8 << 20, .output = 1 << 20},
        .now = &now};
    int status = vv_jinja_render(template, variables, &options, out, &error);
    must(status == VV_OK || error.message[0] != 0);
    return status;
}

/* The conversation as values; made once, as nothing changes them. */
static const struct vv_value *conversation_values(bool data) {
    static struct vv_arena arena;
    static struct vv_value values[2];
    const struct vv_text json = {conversation, sizeof conversation - 1};
    if (values[data].type == VV_VALUE_UNDEFINED) {
        must(vv_value_json(&arena, json, data, &values[data], &error) == VV_OK);
    }
    return &values[data];
}

/* Without any data, all that is written is the template's. */
static void check_own(const struct vv_jinja *template) {
    struct vv_jinja_rendering r;
    if (render(template, conversation_values(false), &r) == VV_OK) {
        must(r.count == 0 || (r.count == 1 && !r.pieces[0].data));
        vv_jinja_rendering_free(&r);
    }
}

static void check_twice(const struct vv_jinja *template, const struct vv_value *variables) {
    struct vv_jinja_rendering first, second;
    if (render(template, variables, &first) == VV_OK) {
        check_pieces(&first);
        must(render(template, variables, &second) == VV_OK);
        must(first.text.length == second.text.length && first.count == second.count &&
             memcmp(first.text.at, second.text.at, first.text.length) == 0);
        vv_jinja_rendering_free(&first);
        vv_jinja_rendering_free(&second);
    }
}

static void check_with(const struct vv_jinja *template, struct vv_text json) {
    struct vv_arena arena = {0};
    struct vv_value variables;
    if (vv_value_json(&arena, json, true, &variables, &error) == VV_OK &&
        variables.type == VV_VALUE_DICT) {
        check_twice(template, &variables);
    }
    vv_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    const char *end = size ? memchr(bytes, 0x1e, size) : NULL;
    struct vv_text source = {bytes, end ? (size_t)(end - bytes) : size};
    struct vv_jinja *template;
    if (vv_jinja_compile(source, &template, &error) != VV_OK) {
        return 0;
    }
    if (end) {
        check_with(template, (struct vv_text){end + 1, size - source.length - 1});
    } else {
        check_twice(template, conversation_values(true));
        check_own(template);
    }
    vv_jinja_free(template);
    return 0;
}
