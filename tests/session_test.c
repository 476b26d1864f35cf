/*
 * One result whatever the window, the threads, the barriers, the instruction set, the device, the
 * company: byte for byte, on three small models of different geometry.
 */
#include "support/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"qwen4exp/micro.f32.gguf", "qwen4exp/odd.f32.gguf",
                                     "qwen4exp/hq.ud.gguf", "deepseek4/tiny.gguf"};
enum { MODELS = sizeof models / sizeof *models, TOKENS = 150, CONTEXT = 200 };

static const struct varve_session_options plain = {
    .context = CONTEXT, .window = CONTEXT, .logits = CONTEXT, .threads = 1};

static const char *const isas[] = {"portable", "avx2", "avxvnni", "avx512", "vnni",
                                   "amx",      "neon", "dotprod", "i8mm"};

static bool can_open(const struct opened *o, const struct varve_session_options *options) {
    struct varve_session *s = NULL;
    struct varve_error error;
    bool can = varve_session_open(o->model, options, &s, &error) == VARVE_OK;
    varve_session_close(s);
    return can;
}

/* Logits of TOKENS tokens under `options`, read in windows of its size. */
static float *run(const struct opened *o, const struct varve_session_options *options,
                  uint32_t seed) {
    int32_t tokens[TOKENS];
    float *logits = malloc(TOKENS * o->info.vocabulary * sizeof *logits);
    struct varve_session *s = open_session(o, options);
    random_tokens(o, seed, tokens, TOKENS);
    advance(s, o, 0, tokens, TOKENS, logits);
    varve_session_close(s);
    return logits;
}

static void same(const struct opened *o, const float *want, float *got, const char *what) {
    size_t n = TOKENS * o->info.vocabulary;
    if (memcmp(want, got, n * sizeof *got) != 0) {
        size_t at = 0;
        while (memcmp(want + at, got + at, sizeof *got) == 0) {
            at++;
        }
        fail_msg("%s: logits differ from token %zu on", what, at / o->info.vocabulary);
    }
    free(got);
}

/* The settings that may not change a bit, each against the plain run. First those with threads. */
static void c044_threads_change_no_bit(void **state) {
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        struct opened o = open_model(models[m]);
        float *want = run(&o, &plain, 1);
        for (uint32_t threads = 2; threads <= 4; threads++) {
            struct varve_session_options other = plain;
            other.threads = threads;
            other.window = 64;
            same(&o, want, run(&o, &other, 1), "more threads");
        }
        struct varve_session_options other = plain;
        other.all_barriers = true;
        other.threads = 3;
        same(&o, want, run(&o, &other, 1), "all barriers");
        other = plain;
        other.device = VARVE_DEVICE_MOCK;
        other.threads = 2;
        other.window = 7;
        same(&o, want, run(&o, &other, 1), "the mock device");
        free(want);
        close_model(&o);
    }
}

static void c044_settings_change_no_bit(void **state) {
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        struct opened o = open_model(models[m]);
        float *want = run(&o, &plain, 1);
        static const uint32_t windows[] = {1, 2, 3, 7, 64};
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            struct varve_session_options other = plain;
            other.window = windows[i];
            same(&o, want, run(&o, &other, 1), "another window");
        }
        struct varve_session_options other;
        for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
            other = plain;
            other.isa = isas[i];
            if (can_open(&o, &other)) { /* this machine may not have it */
                same(&o, want, run(&o, &other, 1), isas[i]);
            }
        }
        other = plain;
        other.observe = true;
        same(&o, want, run(&o, &other, 1), "observing");
        free(want);
        close_model(&o);
    }
}

/* A different text gives different logits: the comparison above can fail. */
static void other_tokens_change_logits(void **state) {
    (void)state;
    struct opened o = open_model(models[0]);
    float *a = run(&o, &plain, 1), *b = run(&o, &plain, 2);
    assert_memory_not_equal(a, b, TOKENS * o.info.vocabulary * sizeof *a);
    free(a);
    free(b);
    close_model(&o);
}

/* Three sequences in mixed order in the same windows, against each alone. */
static void c051_sequences_do_not_touch_each_other(void **state) {
    (void)state;
    enum { SEQUENCES = 3 };
    for (size_t m = 0; m < MODELS; m++) {
        struct opened o = open_model(models[m]);
        size_t v = o.info.vocabulary;
        int32_t tokens[SEQUENCES][TOKENS];
        struct varve_session_options options = plain;
        options.slots = SEQUENCES;
        options.window = 29;
        struct varve_session *s = open_session(&o, &options);
        struct varve_row rows[SEQUENCES * TOKENS];
        size_t next[SEQUENCES] = {0}, count = 0;
        for (uint32_t i = 0; i < SEQUENCES; i++) {
            random_tokens(&o, i + 10, tokens[i], TOKENS);
        }
        for (uint32_t seed = 5; count < SEQUENCES * TOKENS;) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t slot = (seed >> 16) % SEQUENCES;
            if (next[slot] < TOKENS) {
                rows[count++] = (struct varve_row){slot, tokens[slot][next[slot]], true};
                next[slot]++;
            }
        }
        float *mixed = malloc(SEQUENCES * TOKENS * v * sizeof *mixed);
        struct varve_error error = {0};
        size_t done = 0;
        while (done < count) { /* windows by hand, to read logits after each */
            size_t n = count - done < options.window ? count - done : options.window;
            assert_int_equal(
                varve_session_evaluate(s, rows + done, n, VARVE_ADVANCE, NULL, NULL, &error), 0);
            for (size_t i = 0; i < n; i++) {
                memcpy(mixed + (done + i) * v, varve_session_logits(s, i), v * sizeof *mixed);
            }
            done += n;
        }
        for (uint32_t i = 0; i < SEQUENCES; i++) {
            float *alone = run(&o, &plain, i + 10);
            for (size_t r = 0, t = 0; r < count; r++) {
                if (rows[r].slot == i) {
                    assert_memory_equal(alone + t * v, mixed + r * v, v * sizeof *mixed);
                    t++;
                }
            }
            free(alone);
        }
        free(mixed);
        varve_session_close(s);
        close_model(&o);
    }
}

/* The first request after start and a later one; a long one in between, another slot busy. */
static void c052_c064_a_used_session_is_as_good_as_a_new_one(void **state) {
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        struct opened o = open_model(models[m]);
        struct varve_session_options options = plain;
        options.slots = 2;
        struct varve_session *s = open_session(&o, &options);
        int32_t tokens[TOKENS], noise[TOKENS];
        size_t bytes = TOKENS * o.info.vocabulary * sizeof(float);
        float *first = malloc(bytes), *again = malloc(bytes);
        random_tokens(&o, 1, tokens, TOKENS);
        random_tokens(&o, 77, noise, TOKENS);
        advance(s, &o, 0, tokens, TOKENS, first);
        varve_session_clear(s, 0);
        advance(s, &o, 0, noise, TOKENS, NULL);
        advance(s, &o, 1, noise, TOKENS / 2, NULL);
        varve_session_clear(s, 0);
        advance(s, &o, 0, tokens, TOKENS, again);
        assert_memory_equal(first, again, bytes);
        free(first);
        free(again);
        varve_session_close(s);
        close_model(&o);
    }
}

int main(void) {
    const struct CMUnitTest threads[] = {
        cmocka_unit_test(c044_threads_change_no_bit),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(c044_settings_change_no_bit),
        cmocka_unit_test(other_tokens_change_logits),
        cmocka_unit_test(c051_sequences_do_not_touch_each_other),
        cmocka_unit_test(c052_c064_a_used_session_is_as_good_as_a_new_one),
    };
    int failed = cmocka_run_group_tests(threads, NULL, NULL);
#ifdef __SANITIZE_THREAD__ /* it takes its time, and has nothing to say about one thread */
    const bool one_thread = false;
#else
    const bool one_thread = true;
#endif
    return one_thread ? failed + cmocka_run_group_tests(others, NULL, NULL) : failed;
}
