/* Stop strings in streams. */
#include "text/stop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct vv_error error;

enum { MOST = 4, LONGEST = 6, TEXT = 40 };

struct strings {
    char bytes[MOST][LONGEST];
    struct vv_text at[MOST];
    size_t count;
};

static struct strings strings_of(const char *a, const char *b) {
    struct strings s = {.count = b ? 2 : 1};
    s.at[0] = (struct vv_text){a, strlen(a)};
    s.at[1] = (struct vv_text){b, b ? strlen(b) : 0};
    return s;
}

/* The rule by brute force: the first byte after which `text` ends with a stop string, of these the
 * longest. Returns how much of the text is delivered. */
static size_t search(const struct strings *s, const char *text, size_t length, int *found) {
    for (size_t end = 1; end <= length; end++) {
        size_t longest = 0;
        for (size_t i = 0; i < s->count; i++) {
            size_t n = s->at[i].length;
            if (n <= end && n > longest && memcmp(text + end - n, s->at[i].at, n) == 0) {
                longest = n;
                *found = (int)i;
            }
        }
        if (longest > 0) {
            return end - longest;
        }
    }
    *found = -1;
    return length;
}

/* How much of the end of `text` may still become a stop string. */
static size_t may_become(const struct strings *s, const char *text, size_t length) {
    for (size_t n = length; n > 0; n--) {
        for (size_t i = 0; i < s->count; i++) {
            if (n < s->at[i].length && memcmp(text + length - n, s->at[i].at, n) == 0) {
                return n;
            }
        }
    }
    return 0;
}

/* Feeds the text in parts of the lengths that `cut` gives, and compares after every part. */
static void compare(const struct strings *s, const char *text, size_t length, size_t (*cut)(void)) {
    struct vv_stop *stop;
    struct vv_bytes out = {0};
    int found = -1, wanted_found;
    size_t fed = 0;
    assert_int_equal(vv_stop_new(s->at, s->count, &stop, &error), VV_OK);
    while (fed < length) {
        size_t part = cut();
        part = part < length - fed ? part : length - fed;
        assert_int_equal(
            vv_stop_feed(stop, (struct vv_text){text + fed, part}, &out, &found, &error), VV_OK);
        fed += part;
        size_t wanted = search(s, text, fed, &wanted_found);
        wanted -= wanted_found < 0 ? may_become(s, text, fed) : 0;
        assert_int_equal(found, wanted_found);
        assert_int_equal(out.length, wanted);
    }
    assert_int_equal(vv_stop_end(stop, &out, &error), VV_OK);
    size_t wanted = search(s, text, length, &wanted_found);
    assert_int_equal(out.length, wanted);
    assert_memory_equal(out.at ? out.at : "", text, wanted);
    vv_bytes_free(&out);
    vv_stop_free(stop);
}

static size_t one(void) {
    return 1;
}

static size_t all(void) {
    return TEXT;
}

static uint64_t seed = 85;

static size_t below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

static size_t any(void) {
    return below(5);
}

static void c085_what_is_no_part_of_a_completed_stop_is_delivered(void **state) {
    (void)state;
    struct strings s = strings_of("</end>", "d>x");
    compare(&s, "text </end", 10, one); /* cut off inside a stop string */
    compare(&s, "a</end>b", 8, one);    /* overlapping: the first complete one ends it */
    compare(&s, "d></end>", 8, any);
}

static void c086_a_stop_in_the_last_part_gives_the_text_once(void **state) {
    (void)state;
    struct strings s = strings_of("STOP", NULL);
    compare(&s, "hello STOP", 10, all);
    compare(&s, "hello STOP", 10, one);
}

static void c087_no_prefix_leaks_over_parts(void **state) {
    (void)state;
    struct strings s = strings_of("aab", "aaac");
    compare(&s, "aaaaab", 6, one);
    compare(&s, "aaaaac", 6, one);
    compare(&s, "aaaad", 5, one);
}

/* Random strings over two letters, so that all sorts of overlaps and nestings come up. */
static void c088_equals_brute_force_on_random_strings(void **state) {
    (void)state;
    static size_t (*const cuts[])(void) = {one, all, any};
    for (int round = 0; round < 20000; round++) {
        struct strings s = {.count = below(MOST + 1)};
        char text[TEXT];
        size_t length = below(TEXT + 1);
        for (size_t i = 0; i < s.count; i++) {
            s.at[i] = (struct vv_text){s.bytes[i], 1 + below(LONGEST)};
            for (size_t k = 0; k < s.at[i].length; k++) {
                s.bytes[i][k] = (char)('a' + below(2));
            }
        }
        for (size_t i = 0; i < length; i++) {
            text[i] = (char)('a' + below(12) / 5); /* now and then a c, which is in no stop */
        }
        compare(&s, text, length, cuts[round % 3]);
    }
}

static void an_empty_stop_string_is_refused(void **state) {
    (void)state;
    struct strings s = strings_of("a", "");
    struct vv_stop *stop;
    assert_int_equal(vv_stop_new(s.at, 2, &stop, &error), VV_ERROR_INVALID);
    assert_null(stop);
}

/* A long stop string against a text that almost has it everywhere. */
static void the_time_is_linear(void **state) {
    (void)state;
    static char text[200000], long_stop[100000];
    struct vv_stop *stop;
    struct vv_bytes out = {0};
    int found;
    memset(text, 'a', sizeof text);
    memset(long_stop, 'a', sizeof long_stop);
    long_stop[sizeof long_stop - 1] = 'b';
    struct vv_text at = {long_stop, sizeof long_stop};
    assert_int_equal(vv_stop_new(&at, 1, &stop, &error), VV_OK);
    assert_int_equal(vv_stop_feed(stop, (struct vv_text){text, sizeof text}, &out, &found, &error),
                     VV_OK);
    assert_int_equal(out.length, sizeof text - sizeof long_stop + 1);
    vv_stop_free(stop);
    vv_bytes_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c085_what_is_no_part_of_a_completed_stop_is_delivered),
        cmocka_unit_test(c086_a_stop_in_the_last_part_gives_the_text_once),
        cmocka_unit_test(c087_no_prefix_leaks_over_parts),
        cmocka_unit_test(c088_equals_brute_force_on_random_strings),
        cmocka_unit_test(an_empty_stop_string_is_refused),
        cmocka_unit_test(the_time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
