/* The suffix tree against a search of all places, and its time on texts that are hard for others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "draft/drafter.h"
#include "draft/suffix_tree.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 400 };

/* The longest end of text [count] that also stands earlier in it. */
static size_t longest(const int32_t *text, size_t count) {
    size_t best = 0;
    for (size_t end = 1; end < count; end++) { /* an earlier place ends here */
        size_t n = 0;
        while (n < end && text[end - 1 - n] == text[count - 1 - n]) {
            n++;
        }
        best = n > best ? n : best;
    }
    return best;
}

static void check(const struct vv_suffix_tree *tree, const int32_t *text, size_t count) {
    size_t after = SIZE_MAX, length, match = vv_suffix_tree_match(tree, &after);
    const int32_t *kept = vv_suffix_tree_text(tree, &length);
    assert_int_equal(length, count);
    assert_memory_equal(kept, text, count * sizeof *text);
    assert_int_equal(match, longest(text, count));
    if (match > 0) { /* `after` follows a place where the text's end stood */
        assert_true(after < count && after >= match);
        assert_memory_equal(text + after - match, text + count - match, match * sizeof *text);
    }
}

static void grow(const int32_t *text, size_t count) {
    struct vv_error error;
    struct vv_suffix_tree *tree = vv_suffix_tree_new();
    size_t after;
    assert_non_null(tree);
    assert_int_equal(vv_suffix_tree_match(tree, &after), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(vv_suffix_tree_append(tree, text[i], &error), VV_OK);
        check(tree, text, i + 1);
    }
    vv_suffix_tree_free(tree);
}

static void every_short_text(void **state) {
    (void)state;
    int32_t text[8];
    for (uint32_t code = 0; code < 6561; code++) { /* 3^8 */
        for (uint32_t i = 0, left = code; i < 8; i++, left /= 3) {
            text[i] = (int32_t)(left % 3);
        }
        grow(text, 8);
    }
}

static void random_texts(void **state) {
    (void)state;
    int32_t text[LONGEST];
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t letters = 1 + seed % 6;
        for (size_t i = 0; i < LONGEST; i++) { /* letters, and copies of what was there */
            uint64_t drawn = vv_random_at(seed, i);
            bool copies = i > 20 && drawn % 16 != 0;
            text[i] = copies && seed % 2 ? text[i - 7 - seed % 13]
                                         : (int32_t)(vv_high_product(drawn, letters) * 50000);
        }
        grow(text, LONGEST);
    }
}

static void repeats(void **state) {
    (void)state;
    int32_t text[LONGEST];
    int32_t a = 0, b = 1;
    memset(text, 0, sizeof text);
    grow(text, LONGEST);
    for (size_t i = 0; i < LONGEST; i++) { /* Fibonacci's word has no third repeat in a row */
        text[i] = (int32_t)(((i + 2) * 610 / 987) - ((i + 1) * 610 / 987));
    }
    grow(text, LONGEST);
    for (size_t i = 0; i < LONGEST; i++) {
        text[i] = i % 2 ? b++ : a;
    }
    grow(text, LONGEST);
}

/* A million tokens, one of which goes before each of very many others. */
static void a_long_text_takes_no_time(void **state) {
    (void)state;
    struct vv_error error;
    struct vv_suffix_tree *tree = vv_suffix_tree_new();
    for (int32_t i = 0; i < 1000000; i++) {
        int32_t token = i % 4 == 3 ? i % 200000 : i % 4;
        assert_int_equal(vv_suffix_tree_append(tree, token, &error), VV_OK);
    }
    vv_suffix_tree_free(tree);
}

/* ---- the drafter on it ---- */

static void drafts_are(const char *text, uint32_t kind, const char *want) {
    struct vv_error error;
    struct vv_drafter *d = vv_suffix_drafter();
    int32_t tokens[64], drafts[VV_DRAFTS_MAX];
    size_t count = strlen(text), wanted = strlen(want);
    for (size_t i = 0; i < count; i++) {
        tokens[i] = text[i];
    }
    assert_int_equal(d->calls->append(d, tokens, count, &error), VV_OK);
    struct vv_offer offer = d->calls->offer(d, VV_DRAFTS_MAX);
    assert_int_equal(offer.most, wanted ? VV_DRAFTS_MAX : 0);
    if (wanted) {
        assert_int_equal(offer.kind, kind);
        assert_int_equal(d->calls->propose(d, (uint32_t)wanted, drafts, &error), VV_OK);
    }
    for (size_t i = 0; i < wanted; i++) {
        assert_int_equal(drafts[i], want[i]);
    }
    d->calls->clear(d);
    assert_int_equal(d->calls->offer(d, 4).most, 0);
    d->calls->free(d);
}

static void the_drafter_goes_on_as_the_text_did(void **state) {
    (void)state;
    drafts_are("", 0, "");
    drafts_are("abcdef", 0, "");
    drafts_are("the fox; he", 0, "");             /* two letters agree */
    drafts_are("the fox saw; the", 0, " fox sa"); /* three */
    drafts_are("a fox sleeps; a fox s", 1, "leeps; ");
    drafts_are("one two three four, one two three", 2, " four");
    drafts_are("the cat, the dog, the", 0, " dog, the"); /* ", the" is longer than "the" */
    drafts_are("xyxyxyxy", 1, "xyxyxyxyxyxyxyx");        /* in a circle */
    drafts_are("abc1abc2abc2abc", 1, "2abc");            /* "abc2abc" stood there, and overlaps */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_text),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(repeats),
        cmocka_unit_test(a_long_text_takes_no_time),
        cmocka_unit_test(the_drafter_goes_on_as_the_text_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
