#include "tune/bench_model.h"
#include "base/clock.h"
#include "base/random.h"
#include "tune/series.h"

#include <stdlib.h>

enum { WINDOWS_A_ROUND = 4, PROMPT_SLOT = 0, FIRST_DEPTH_SLOT = 1 };

struct test {
    enum vv_bench_kind kind;
    uint32_t n, depth, slot;
    double *ms;   /* [rounds] */
    double bytes; /* of a window, summed over the rounds */
};

struct bench {
    const struct vv_bench_options *options;
    struct vv_session *session;
    size_t vocabulary;
    uint32_t window;
    uint64_t drawn; /* tokens so far */
    struct vv_row *rows;
    struct test *tests;
    size_t count;
};

/* ---- work that is timed ---- */

static int32_t next_token(struct bench *b, bool same) {
    uint64_t random = vv_random_at(b->options->seed, same ? 0 : b->drawn++);
    return (int32_t)vv_high_product(random, b->vocabulary);
}

/* Draws `count` rows of a slot. */
static void draw(struct bench *b, uint32_t slot, uint32_t count, bool same) {
    for (uint32_t i = 0; i < count; i++) {
        b->rows[i] = (struct vv_row){slot, next_token(b, same), false, {.wanted = 1}};
    }
}

static int run(struct bench *b, uint32_t count, enum vv_mode mode, double *ms,
               struct vv_error *error) {
    double began = vv_seconds();
    int code = vv_session_run(b->session, b->rows, count, mode, error);
    *ms += (vv_seconds() - began) * 1e3;
    return code;
}

static int run_prompt(struct bench *b, const struct test *t, double *ms, struct vv_error *error) {
    vv_session_clear(b->session, t->slot);
    int code = VV_OK;
    for (uint32_t at = 0; code == VV_OK && at < t->n;) {
        uint32_t count = t->n - at < b->window ? t->n - at : b->window;
        draw(b, t->slot, count, false);
        at += count;
        b->rows[count - 1].output = at == t->n;
        code = run(b, count, VV_ADVANCE, ms, error);
    }
    return code;
}

static int run_generate(struct bench *b, const struct test *t, double *ms, struct vv_error *error) {
    int code = VV_OK;
    for (uint32_t i = 0; code == VV_OK && i < t->n; i++) {
        draw(b, t->slot, 1, b->options->same_experts);
        b->rows[0].output = true;
        code = run(b, 1, VV_ADVANCE, ms, error);
    }
    return code;
}

/* The sequence is as long afterwards as before: nothing of a window is kept. */
static int run_windows(struct bench *b, struct test *t, double *ms, struct vv_error *error) {
    int code = VV_OK;
    for (int i = 0; code == VV_OK && i < WINDOWS_A_ROUND; i++) {
        draw(b, t->slot, t->n, b->options->same_experts);
        for (uint32_t r = 0; r < t->n; r++) {
            b->rows[r].output = true;
        }
        code = run(b, t->n, VV_VERIFY, ms, error);
        t->bytes += (double)vv_session_bytes(b->session) / WINDOWS_A_ROUND;
        code = code == VV_OK ? vv_session_commit(b->session, t->slot, 0, error) : code;
    }
    *ms /= WINDOWS_A_ROUND;
    return code;
}

static uint32_t batch_steps(const struct vv_bench_options *o) {
    return o->generate || !o->batch_count ? o->generate : WINDOWS_A_ROUND;
}

/* Sequences of their own in the slots from the test's on, which begin alike. */
static int restore_batch(struct bench *b, const struct test *t, struct vv_error *error) {
    int code = vv_session_fill(b->session, t->slot, t->depth, b->options->seed, error);
    for (uint32_t i = 1; code == VV_OK && i < t->n; i++) {
        code = vv_session_fork(b->session, t->slot, t->slot + i, error);
    }
    return code;
}

static int run_batch(struct bench *b, struct test *t, double *ms, struct vv_error *error) {
    uint32_t steps = batch_steps(b->options);
    int code = restore_batch(b, t, error);
    for (uint32_t i = 0; code == VV_OK && i < steps; i++) {
        for (uint32_t r = 0; r < t->n; r++) {
            b->rows[r] =
                (struct vv_row){t->slot + r, next_token(b, b->options->same_experts), true};
        }
        code = run(b, t->n, VV_ADVANCE, ms, error);
        t->bytes += (double)vv_session_bytes(b->session) / steps;
    }
    *ms /= steps;
    return code;
}

static int run_test(struct bench *b, struct test *t, double *ms, struct vv_error *error) {
    *ms = 0;
    switch (t->kind) {
    case VV_BENCH_PROMPT:
        return run_prompt(b, t, ms, error);
    case VV_BENCH_GENERATE:
        return run_generate(b, t, ms, error);
    case VV_BENCH_BATCH:
        return run_batch(b, t, ms, error);
    default:
        return run_windows(b, t, ms, error);
    }
}

/* ---- rounds ---- */

static int restore_depths(struct bench *b, struct vv_error *error) {
    const struct vv_bench_options *o = b->options;
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < o->depth_count; i++) {
        code = vv_session_fill(b->session, FIRST_DEPTH_SLOT + (uint32_t)i, o->depths[i], o->seed,
                               error);
    }
    return code;
}

static int run_round(struct bench *b, uint32_t round, struct vv_error *error) {
    const struct vv_bench_options *o = b->options;
    int code = restore_depths(b, error);
    for (size_t i = 0; code == VV_OK && i < b->count; i++) {
        uint64_t done = (uint64_t)round * b->count + i;
        if (o->progress && !o->progress(o->context, "measuring", done, o->rounds * b->count)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        code = run_test(b, &b->tests[i], &b->tests[i].ms[round], error);
    }
    return code;
}

/* Everything is touched and every program recorded before the clock counts. */
static int warm_up(struct bench *b, struct vv_bench_facts *facts, struct vv_error *error) {
    struct test first = {VV_BENCH_PROMPT, b->window, 0, PROMPT_SLOT, NULL, 0};
    int code = run_test(b, &first, &facts->cold_ms, error);
    facts->cold_rows = first.n;
    code = code == VV_OK ? restore_depths(b, error) : code;
    for (size_t i = 0; code == VV_OK && i < b->count; i++) {
        double ms;
        if (b->tests[i].kind == VV_BENCH_WINDOW || b->tests[i].kind == VV_BENCH_BATCH) {
            code = run_test(b, &b->tests[i], &ms, error);
            b->tests[i].bytes = 0;
        }
    }
    return code;
}

static int run_all(struct bench *b, struct vv_bench_facts *facts, struct vv_error *error) {
    const struct vv_bench_options *o = b->options;
    int code = warm_up(b, facts, error);
    for (uint32_t round = 0; code == VV_OK && round < o->rounds; round++) {
        code = run_round(b, round, error);
    }
    for (size_t i = 0; code == VV_OK && i < b->count; i++) {
        const struct test *t = &b->tests[i];
        const struct vv_bench_result result = {t->kind, t->n,      t->depth,
                                               t->ms,   o->rounds, t->bytes / o->rounds};
        o->result(o->context, &result);
    }
    return code;
}

/* ---- what there is to run ---- */

static void add(struct bench *b, enum vv_bench_kind kind, uint32_t n, uint32_t depth,
                uint32_t slot) {
    double *ms = b->tests[0].ms + b->count * b->options->rounds;
    b->tests[b->count++] = (struct test){kind, n, depth, slot, ms, 0};
}

/* A depth's windows come before its generation, which moves the sequence on. */
static void list_tests(struct bench *b) {
    const struct vv_bench_options *o = b->options;
    for (size_t i = 0; i < o->prompt_count; i++) {
        add(b, VV_BENCH_PROMPT, o->prompts[i], 0, PROMPT_SLOT);
    }
    for (size_t d = 0; d < o->depth_count; d++) {
        uint32_t slot = FIRST_DEPTH_SLOT + (uint32_t)d;
        for (size_t i = 0; i < o->window_count; i++) {
            add(b, VV_BENCH_WINDOW, o->windows[i], o->depths[d], slot);
        }
        if (o->generate > 0) {
            add(b, VV_BENCH_GENERATE, o->generate, o->depths[d], slot);
        }
        for (size_t i = 0; i < o->batch_count; i++) {
            add(b, VV_BENCH_BATCH, o->batches[i], o->depths[d],
                FIRST_DEPTH_SLOT + (uint32_t)o->depth_count);
        }
    }
}

static int check(const struct vv_bench_options *o, struct vv_error *error) {
    if (o->rounds < 1 || o->rounds > VV_SAMPLES_MAX) {
        return vv_fail(error, VV_ERROR_INVALID, "%u rounds are asked for; 1 to %d can be measured",
                       o->rounds, VV_SAMPLES_MAX);
    }
    for (size_t i = 0; i < o->prompt_count; i++) {
        if (o->prompts[i] < 1) {
            return vv_fail(error, VV_ERROR_INVALID, "a prompt has one token at least");
        }
    }
    for (size_t i = 0; i < o->batch_count; i++) {
        if (o->batches[i] < 1 || o->batches[i] > VV_BATCH_MAX) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "a batch of %u sequences is asked for; 1 to %d can be measured",
                           o->batches[i], VV_BATCH_MAX);
        }
    }
    for (size_t i = 0; i < o->window_count; i++) {
        if (o->windows[i] < 1 || o->windows[i] > VV_VERIFY_ROWS_MAX) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "a window of %u rows is asked for; 1 to %d can be verified",
                           o->windows[i], VV_VERIFY_ROWS_MAX);
        }
    }
    return VV_OK;
}

static uint32_t largest(const uint32_t *list, size_t count) {
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        most = list[i] > most ? list[i] : most;
    }
    return most;
}

/* The session's sizes: a slot for prompts, one for each depth, those of a batch. */
static int set_sizes(struct vv_session_options *s, const struct vv_bench_options *o,
                     const struct vv_model_facts *facts, struct vv_error *error) {
    uint64_t prompt = largest(o->prompts, o->prompt_count);
    uint64_t rows = largest(o->windows, o->window_count);
    uint32_t batch = largest(o->batches, o->batch_count);
    uint64_t deep = (uint64_t)largest(o->depths, o->depth_count) + batch_steps(o) + rows + 1;
    uint64_t context = prompt > deep ? prompt : deep;
    if (context > facts->context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%llu tokens are needed for the deepest test; this model was made for %zu",
                       (unsigned long long)context, facts->context);
    }
    context = context < s->window && facts->context >= s->window ? s->window : context;
    s->context = (uint32_t)context;
    s->window = s->window < context ? s->window : (uint32_t)context;
    s->window = s->window > batch ? s->window : batch;
    s->slots = FIRST_DEPTH_SLOT + (uint32_t)o->depth_count + batch;
    s->outputs = rows > batch ? (uint32_t)rows : batch > 1 ? batch : 1;
    s->outputs = s->outputs < s->window ? s->outputs : s->window;
    return VV_OK;
}

static int allocate(struct bench *b, struct vv_error *error) {
    const struct vv_bench_options *o = b->options;
    size_t most = o->prompt_count + o->depth_count * (o->window_count + 1 + o->batch_count) + 1;
    size_t rows = b->window > VV_VERIFY_ROWS_MAX ? b->window : VV_VERIFY_ROWS_MAX;
    b->rows = calloc(rows, sizeof *b->rows);
    b->tests = calloc(most, sizeof *b->tests);
    double *ms = calloc(most * o->rounds, sizeof *ms);
    if (!b->rows || !b->tests || !ms) {
        free(ms);
        return vv_fail_memory(error, most * o->rounds * sizeof *ms, "the measurements");
    }
    b->tests[0].ms = ms;
    return VV_OK;
}

static void release(struct bench *b) {
    vv_session_free(b->session);
    free(b->tests ? b->tests[0].ms : NULL);
    free(b->tests);
    free(b->rows);
}

int vv_bench_sizes(const struct vv_family *family, const void *geometry,
                   const struct vv_bench_options *options, struct vv_session_options *session,
                   struct vv_error *error) {
    struct vv_model_facts model;
    family->facts(geometry, &model);
    int code = check(options, error);
    return code == VV_OK ? set_sizes(session, options, &model, error) : code;
}

int vv_bench_model(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session, const struct vv_bench_options *options,
                   struct vv_bench_facts *facts, struct vv_error *error) {
    struct vv_model_facts model;
    struct vv_session_options s = *session;
    struct bench b = {.options = options};
    family->facts(geometry, &model);
    b.vocabulary = model.vocabulary;
    int code = vv_bench_sizes(family, geometry, options, &s, error);
    b.window = s.window;
    double began = vv_seconds();
    if (code == VV_OK) {
        code = vv_session_new(file, family, geometry, &s, &b.session, error);
        facts->load_ms = (vv_seconds() - began) * 1e3;
    }
    code = code == VV_OK ? allocate(&b, error) : code;
    if (code == VV_OK) {
        list_tests(&b);
        code = run_all(&b, facts, error);
    }
    if (code == VV_OK && options->measured) {
        options->measured(options->context, b.session);
    }
    release(&b);
    return code;
}
