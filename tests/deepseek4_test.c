/*
 * The second family on a model of its own: against what an independent implementation gives for it,
 * and what its pooled rows need beside the tests that all families share: windows that are verified
 * across the end of a block of 128 tokens.
 */
#include "support/deepseek4_golden.h"
#include "support/opened.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DATA VARVE_SOURCE_DIR "/tests/data/deepseek4/"
#define TINY "deepseek4/tiny.gguf"

static void compare(const char *golden, struct varve_session_options options,
                    const struct deepseek4_limits *limits, const char *what) {
    struct golden g = {0};
    options.float_activations = true;
    deepseek4_golden_run(&g, DATA "tiny.gguf", golden, &options, limits, what);
    assert_int_equal(g.failed, 0);
    assert_true(g.passed > 0);
}

static void plain_caches(void **state) {
    (void)state;
    static const struct deepseek4_limits limits = {1e-3, 1e-4, 1e-6, true, NULL};
    static const uint32_t windows[] = {0, 1, 5, 37};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        compare(
            DATA "tiny.golden.gguf",
            (struct varve_session_options){.window = windows[i], .threads = 1, .exact_cache = true},
            &limits, "plain");
    }
}

static void rounded_caches(void **state) {
    (void)state;
    static const struct deepseek4_limits limits = {0.1, 1e-2, 1e-3, false, NULL};
    for (uint32_t window = 0; window < 20; window += 9) {
        compare(DATA "tiny.sim.golden.gguf",
                (struct varve_session_options){.window = window, .threads = 1}, &limits, "rounded");
    }
}

/* The goldens of one kind are not met by the other, so that neither test is blind. */
static void the_two_kinds_differ(void **state) {
    (void)state;
    struct opened o = open_model(TINY);
    int32_t tokens[40];
    random_tokens(&o, 5, tokens, 40);
    struct varve_session_options options = {.context = 64, .threads = 1, .logits = 40};
    float *rounded = logits_of(&o, &options, tokens, 40);
    options.exact_cache = true;
    float *plain = logits_of(&o, &options, tokens, 40);
    double most = 0;
    for (size_t i = 0; i < 40 * o.info.vocabulary; i++) {
        most = fmax(most, fabs((double)plain[i] - (double)rounded[i]));
    }
    assert_true(most > 0.1);
    free(plain);
    free(rounded);
    close_model(&o);
}

/* ---- verified windows across blocks ---- */

enum { FIRST = 122, LAST = 133, ROWS = 8, LONGEST = LAST + ROWS + 2 };

struct told {
    float *logits[LONGEST];
    void *state[LONGEST + 1];
    size_t bytes[LONGEST + 1];
};

static void read_text(struct opened *o, struct varve_session *s, const int32_t *tokens,
                      struct told *t) {
    for (size_t i = 0; i <= LONGEST; i++) {
        t->state[i] = state_of(s, 0, &t->bytes[i]);
        if (i < LONGEST) {
            t->logits[i] = malloc(o->info.vocabulary * sizeof *t->logits[i]);
            advance(s, o, 0, tokens + i, 1, t->logits[i]);
        }
    }
}

static void same_state(struct varve_session *s, const struct told *t, size_t length) {
    size_t bytes;
    void *state = state_of(s, 0, &bytes);
    assert_int_equal(bytes, t->bytes[length]);
    assert_memory_equal(state, t->state[length], bytes);
    free(state);
}

/* `keep` right tokens and wrong ones after them are verified at `at`, those are kept. */
static void verify(struct opened *o, struct varve_session *s, const int32_t *tokens,
                   const struct told *t, size_t at, uint32_t keep) {
    struct varve_error error = {0};
    struct varve_row rows[ROWS];
    size_t bytes = o->info.vocabulary * sizeof(float);
    for (uint32_t i = 0; i < ROWS; i++) {
        int32_t other = (tokens[at + i] + 1) % (int32_t)o->info.vocabulary;
        rows[i] = (struct varve_row){0, i < keep ? tokens[at + i] : other, true};
    }
    assert_int_equal(varve_session_evaluate(s, rows, ROWS, VARVE_VERIFY, NULL, NULL, &error), 0);
    for (uint32_t i = 0; i < keep; i++) {
        assert_memory_equal(varve_session_logits(s, i), t->logits[at + i], bytes);
    }
    assert_int_equal(varve_session_commit(s, 0, keep, &error), 0);
    same_state(s, t, at + keep);
    float *next = malloc(bytes);
    advance(s, o, 0, tokens + at + keep, 1, next);
    assert_memory_equal(next, t->logits[at + keep], bytes);
    free(next);
}

static void across_blocks(bool exact, bool mtp) {
    struct opened o = open_model(TINY);
    struct told t = {0};
    int32_t tokens[LONGEST];
    struct varve_session_options options = {.context = 160,
                                            .window = 64,
                                            .logits = ROWS,
                                            .threads = 1,
                                            .exact_cache = exact,
                                            .mtp = mtp};
    random_tokens(&o, 7, tokens, LONGEST);
    struct varve_session *one = open_session(&o, &options), *s = open_session(&o, &options);
    read_text(&o, one, tokens, &t);
    for (uint32_t keep = 0; keep <= ROWS; keep++) {
        for (size_t at = FIRST + keep % 2; at <= LAST; at += 2) {
            varve_session_clear(s, 0);
            advance(s, &o, 0, tokens, at, NULL);
            verify(&o, s, tokens, &t, at, keep);
        }
    }
    for (size_t i = 0; i <= LONGEST; i++) {
        free(t.state[i]);
        free(i < LONGEST ? t.logits[i] : NULL);
    }
    varve_session_close(one);
    varve_session_close(s);
    close_model(&o);
}

static void verified_across_blocks(void **state) {
    (void)state;
    across_blocks(true, false);
    across_blocks(false, true);
}

/* ---- windows of attention ---- */

/* One token again and again, whose rows are all alike but for their place: in passes of any size as
 * in one, on plain caches and rounded ones. */
static void c048_the_same_token_in_several_passes(void **state) {
    (void)state;
    enum { TOKENS = 150 };
    static const uint32_t windows[] = {1, 7, 64, 128};
    struct opened o = open_model(TINY);
    int32_t tokens[TOKENS];
    for (size_t i = 0; i < TOKENS; i++) {
        tokens[i] = 31;
    }
    for (int exact = 0; exact < 2; exact++) {
        struct varve_session_options options = {.context = TOKENS,
                                                .window = TOKENS,
                                                .logits = TOKENS,
                                                .threads = 1,
                                                .exact_cache = exact};
        float *one = logits_of(&o, &options, tokens, TOKENS);
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            options.window = options.logits = windows[i];
            float *several = logits_of(&o, &options, tokens, TOKENS);
            assert_memory_equal(one, several, TOKENS * o.info.vocabulary * sizeof *one);
            free(several);
        }
        free(one);
    }
    close_model(&o);
}

/* The raw window is 13 tokens here; the context holds all it says, and not one more. */
static void c063_room_beyond_the_sliding_window(void **state) {
    (void)state;
    enum { ROOM = 70 };
    struct opened o = open_model(TINY);
    struct varve_error error = {0};
    int32_t tokens[ROOM + 1];
    const struct varve_session_options options = {.context = ROOM, .window = 9, .threads = 1};
    random_tokens(&o, 11, tokens, ROOM + 1);
    struct varve_session *s = open_session(&o, &options);
    advance(s, &o, 0, tokens, ROOM, NULL);
    const struct varve_row more = {0, tokens[ROOM], true};
    assert_int_not_equal(varve_session_evaluate(s, &more, 1, VARVE_ADVANCE, NULL, NULL, &error), 0);
    assert_non_null(strstr(error.message, "70"));
    varve_session_close(s);
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_caches),
        cmocka_unit_test(rounded_caches),
        cmocka_unit_test(the_two_kinds_differ),
        cmocka_unit_test(verified_across_blocks),
        cmocka_unit_test(c048_the_same_token_in_several_passes),
        cmocka_unit_test(c063_room_beyond_the_sliding_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
