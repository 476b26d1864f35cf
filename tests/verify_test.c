/*
 * Verifying a window and committing its first k rows equals advancing k rows, byte for byte: the
 * state afterwards, the logits of the window, and those of what follows. From every place in a
 * block of keys and in the convolutions' tails, around the end of a chunk of 64 keys, with
 * separators of the n-gram embedding inside the window. Case C072 of docs/cases.md.
 */
#include "support/opened.h"

#include <stdlib.h>
#include <string.h>

/* Windows begin at 0 to NEAR and FAR to LAST. */
enum { ROWS = 8, NEAR = 12, FAR = 61, LAST = 65, LONGEST = LAST + ROWS + 2, CONTEXT = 120 };

/* A text, what a session gives that reads it token by token, and another that verifies. */
struct pair {
    struct opened o;
    struct varve_session *verified;
    int32_t tokens[LONGEST], wrong[ROWS];
    float *want;                    /* [LONGEST][vocabulary] */
    void *state[LONGEST + 1];       /* after so many tokens */
    size_t bytes[LONGEST + 1];      /* of it */
    bool begun[ROWS + 1][LAST + 1]; /* windows that were tried: rows kept, where it began */
};

static void read_text(struct pair *p, struct varve_session *advanced) {
    size_t v = p->o.info.vocabulary;
    p->want = malloc(LONGEST * v * sizeof *p->want);
    for (size_t i = 0; i <= LONGEST; i++) {
        p->state[i] = state_of(advanced, 1, &p->bytes[i]);
        if (i < LONGEST) {
            advance(advanced, &p->o, 1, p->tokens + i, 1, p->want + i * v);
        }
    }
}

static void same_state(const struct pair *p, size_t length) {
    size_t bytes;
    void *state = state_of(p->verified, 1, &bytes);
    assert_int_equal(varve_session_length(p->verified, 1), length);
    assert_int_equal(bytes, p->bytes[length]);
    assert_memory_equal(state, p->state[length], bytes);
    free(state);
}

static void same_logits(const struct pair *p, size_t at, const float *logits, size_t rows) {
    size_t v = p->o.info.vocabulary;
    assert_memory_equal(logits, p->want + at * v, rows * v * sizeof *logits);
}

/* Reads on in the text with plain windows. */
static void read_on(struct pair *p, size_t from, size_t to) {
    advance(p->verified, &p->o, 1, p->tokens + from, to - from, NULL);
}

/* The text's next k tokens and wrong ones after them are verified, k are kept, one more is read. */
static size_t one_window(struct pair *p, size_t at, uint32_t k) {
    struct varve_row rows[ROWS];
    struct varve_error error = {0};
    float *next = malloc(p->o.info.vocabulary * sizeof *next);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (struct varve_row){1, i < k ? p->tokens[at + i] : p->wrong[i], true};
    }
    assert_int_equal(
        varve_session_evaluate(p->verified, rows, ROWS, VARVE_VERIFY, NULL, NULL, &error), 0);
    same_state(p, at); /* verifying moves nothing */
    for (uint32_t i = 0; i < k; i++) {
        same_logits(p, at + i, varve_session_logits(p->verified, i), 1);
    }
    assert_int_equal(varve_session_commit(p->verified, 1, k, &error), 0);
    same_state(p, at + k);
    advance(p->verified, &p->o, 1, p->tokens + at + k, 1, next);
    same_logits(p, at + k, next, 1);
    free(next);
    p->begun[k][at] = true;
    return at + k + 1;
}

static void walk(struct pair *p, uint32_t k, size_t start) {
    size_t at = start;
    varve_session_clear(p->verified, 1);
    read_on(p, 0, start);
    while (at <= NEAR) {
        at = one_window(p, at, k);
    }
    if (FAR + start <= LAST) {
        read_on(p, at, FAR + start);
        at = FAR + start;
    }
    while (at >= FAR && at <= LAST) {
        at = one_window(p, at, k);
    }
    same_state(p, at);
}

struct sweep {
    const char *model;
    bool mtp, mock;
    uint32_t threads;
    uint32_t starts; /* walks at most with the same k; 0: as many as every place needs */
    uint32_t every;  /* one k of so many */
};

static void open_pair(struct pair *p, const struct sweep *how) {
    struct varve_session_options options = {.slots = 2,
                                            .context = CONTEXT,
                                            .window = 64,
                                            .logits = 16,
                                            .threads = how->threads,
                                            .mtp = how->mtp,
                                            .device =
                                                how->mock ? VARVE_DEVICE_MOCK : VARVE_DEVICE_CPU};
    *p = (struct pair){.o = open_model(how->model)};
    p->verified = open_session(&p->o, &options);
    options.device = VARVE_DEVICE_CPU;
    options.threads = 1;
    struct varve_session *advanced = open_session(&p->o, &options);
    random_tokens(&p->o, 3, p->tokens, LONGEST);
    random_tokens(&p->o, 4, p->wrong, ROWS);
    p->tokens[66] = p->o.info.stop_ids[p->o.info.stop_count - 1]; /* a separator to cut at */
    read_text(p, advanced);
    varve_session_close(advanced);
}

static void close_pair(struct pair *p) {
    for (size_t i = 0; i <= LONGEST; i++) {
        free(p->state[i]);
    }
    free(p->want);
    varve_session_close(p->verified);
    close_model(&p->o);
}

/* Walks of k + 1 tokens a step, from k + 1 places, begin a window everywhere. */
static void sweep(const struct sweep *how) {
    struct pair p;
    open_pair(&p, how);
    for (uint32_t k = how->every / 2; k <= ROWS; k += how->every) {
        for (uint32_t start = 0; start <= k && (!how->starts || start < how->starts); start++) {
            walk(&p, k, start);
        }
        for (size_t at = 0; !how->starts && at <= LAST; at++) {
            assert_true(p.begun[k][at] || (at > NEAR && at < FAR));
        }
    }
    close_pair(&p);
}

static void c072_verify_and_commit_equal_advancing(void **state) {
    (void)state;
    sweep(&(struct sweep){.model = "qwen4exp/micro.f32.gguf", .threads = 1, .every = 1});
    sweep(&(struct sweep){.model = "qwen4exp/odd.f32.gguf", .threads = 1, .every = 1});
    sweep(&(struct sweep){.model = "qwen4exp/hq.ud.gguf", .threads = 1, .starts = 2, .every = 1});
    sweep(&(struct sweep){.model = "deepseek4/tiny.gguf", .threads = 1, .every = 1});
}

static void the_draft_block_follows(void **state) {
    (void)state;
    sweep(
        &(struct sweep){.model = "qwen4exp/micro.f32.gguf", .threads = 1, .mtp = true, .every = 1});
    sweep(&(struct sweep){.model = "qwen4exp/odd.f32.gguf", .threads = 1, .mtp = true, .every = 1});
    sweep(&(struct sweep){.model = "deepseek4/tiny.gguf", .threads = 1, .mtp = true, .every = 1});
}

static void on_a_device_of_its_own(void **state) {
    (void)state;
    sweep(&(struct sweep){.model = "qwen4exp/micro.f32.gguf",
                          .threads = 2,
                          .mtp = true,
                          .mock = true,
                          .starts = 1,
                          .every = 3});
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
    const struct CMUnitTest threads[] = {
        cmocka_unit_test(on_a_device_of_its_own),
        cmocka_unit_test(drafting_changes_nothing),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(c072_verify_and_commit_equal_advancing),
        cmocka_unit_test(the_draft_block_follows),
    };
    int failed = cmocka_run_group_tests(threads, NULL, NULL);
#ifdef __SANITIZE_THREAD__ /* it takes its time, and has nothing to say about one thread */
    const bool one_thread = false;
#else
    const bool one_thread = true;
#endif
    return one_thread ? failed + cmocka_run_group_tests(others, NULL, NULL) : failed;
}
