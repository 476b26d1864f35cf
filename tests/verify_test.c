/*
 * Verifying a window and committing its first k rows equals advancing k rows, byte for byte: the
 * state afterwards, the logits of the window, and those of what follows. From every place in a
 * block of keys and in the convolutions' tails, with separators of the n-gram embedding inside the
 * window.
 */
#include "support/opened.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, AFTER = 5, CONTEXT = 120, LONGEST = 80 };

struct pair {
    struct opened o;
    struct varve_session *verified, *advanced;
    int32_t tokens[LONGEST + ROWS + AFTER];
    float *want, *got; /* [ROWS + AFTER][vocabulary] */
};

static void verify(struct pair *p, uint32_t slot, const int32_t *tokens, float *logits) {
    struct varve_row rows[ROWS];
    struct varve_error error = {0};
    size_t v = p->o.info.vocabulary;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = (struct varve_row){slot, tokens[i], true};
    }
    assert_int_equal(
        varve_session_evaluate(p->verified, rows, ROWS, VARVE_VERIFY, NULL, NULL, &error), 0);
    for (size_t i = 0; i < ROWS; i++) {
        memcpy(logits + i * v, varve_session_logits(p->verified, i), v * sizeof *logits);
    }
}

static void same_state(struct pair *p) {
    size_t a, b;
    void *x = state_of(p->verified, 1, &a), *y = state_of(p->advanced, 1, &b);
    assert_int_equal(a, b);
    assert_memory_equal(x, y, a);
    free(x);
    free(y);
}

/* `length` tokens, a verified window, k of it committed, then plain tokens; both ways. */
static void one_case(struct pair *p, size_t length, uint32_t k) {
    size_t v = p->o.info.vocabulary;
    struct varve_error error = {0};
    varve_session_clear(p->verified, 1);
    varve_session_clear(p->advanced, 1);
    advance(p->verified, &p->o, 1, p->tokens, length, NULL);
    advance(p->advanced, &p->o, 1, p->tokens, length, NULL);

    verify(p, 1, p->tokens + length, p->got);
    same_state(p); /* verifying moved nothing */
    assert_int_equal(varve_session_length(p->verified, 1), length);
    assert_int_equal(varve_session_commit(p->verified, 1, k, &error), 0);

    advance(p->advanced, &p->o, 1, p->tokens + length, k, p->want);
    assert_memory_equal(p->want, p->got, k * v * sizeof(float));
    same_state(p);
    /* Other tokens than the rejected ones follow. */
    const int32_t *after = p->tokens + LONGEST + ROWS;
    advance(p->verified, &p->o, 1, after, AFTER, p->got);
    advance(p->advanced, &p->o, 1, after, AFTER, p->want);
    assert_memory_equal(p->want, p->got, AFTER * v * sizeof(float));
    same_state(p);
}

static void sweep(const char *model, bool mtp, bool mock) {
    struct pair p = {.o = open_model(model)};
    struct varve_session_options options = {.slots = 2,
                                            .context = CONTEXT,
                                            .window = 64,
                                            .logits = 16,
                                            .threads = 2,
                                            .mtp = mtp,
                                            .mock_device = mock};
    size_t v = p.o.info.vocabulary;
    p.verified = open_session(&p.o, &options);
    options.mock_device = false;
    p.advanced = open_session(&p.o, &options);
    p.want = malloc((ROWS + AFTER) * v * sizeof(float));
    p.got = malloc((ROWS + AFTER) * v * sizeof(float));
    random_tokens(&p.o, 3, p.tokens, LONGEST + ROWS + AFTER);
    p.tokens[66] = p.o.info.stop_ids[p.o.info.stop_count - 1]; /* a separator to cut at */
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 61, 62, 63, 64, 65};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint32_t k = 0; k <= ROWS; k++) {
            if (!mock || k % 3 == 1) {
                one_case(&p, lengths[i], k);
            }
        }
    }
    free(p.want);
    free(p.got);
    varve_session_close(p.verified);
    varve_session_close(p.advanced);
    close_model(&p.o);
}

static void c072_verify_and_commit_equal_advancing(void **state) {
    (void)state;
    sweep("qwen4exp/micro.f32.gguf", false, false);
    sweep("qwen4exp/odd.f32.gguf", false, false);
    sweep("qwen4exp/hq.ud.gguf", false, false);
}

static void the_draft_block_follows(void **state) {
    (void)state;
    sweep("qwen4exp/micro.f32.gguf", true, false);
    sweep("qwen4exp/odd.f32.gguf", true, false);
}

static void on_a_device_of_its_own(void **state) {
    (void)state;
    sweep("qwen4exp/micro.f32.gguf", true, true);
}

/* Drafting leaves the sequence as it was, and gives the same drafts again. */
static void drafting_changes_nothing(void **state) {
    (void)state;
    enum { STEPS = 6 };
    struct opened o = open_model("qwen4exp/odd.f32.gguf");
    struct varve_session_options options = {.context = CONTEXT, .threads = 2, .mtp = true};
    struct varve_session *s = open_session(&o, &options);
    struct varve_error error = {0};
    int32_t tokens[LONGEST], drafts[STEPS], again[STEPS];
    size_t bytes, bytes_after;
    random_tokens(&o, 9, tokens, LONGEST);
    advance(s, &o, 0, tokens, LONGEST, NULL);
    void *before = state_of(s, 0, &bytes);
    assert_int_equal(varve_session_draft(s, 0, 5, STEPS, drafts, NULL, &error), 0);
    void *after = state_of(s, 0, &bytes_after);
    assert_int_equal(bytes, bytes_after);
    assert_memory_equal(before, after, bytes);
    assert_int_equal(varve_session_draft(s, 0, 5, STEPS, again, NULL, &error), 0);
    assert_memory_equal(drafts, again, sizeof drafts);
    free(before);
    free(after);
    varve_session_close(s);
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c072_verify_and_commit_equal_advancing),
        cmocka_unit_test(the_draft_block_follows),
        cmocka_unit_test(on_a_device_of_its_own),
        cmocka_unit_test(drafting_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
