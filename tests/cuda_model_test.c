/*
 * Models on the emulated GPU: every logit, draft and state has the CPU's bits, however windows are
 * cut, recorded or held up by barriers; what fails there is told as on the CPU; and memory that
 * runs out, wherever it does, ends in a sentence.
 */
#include "device/device.h"
#include "registry/open.h"
#include "registry/operation.h"
#include "support/edited.h"
#include "support/folder.h"
#include "support/opened.h"

#include <stdlib.h>
#include <string.h>

/* The text is long enough for blocks of keys to be chosen. */
enum { START = 50, TEXT = 58, CONTEXT = 96 };

#define MICRO "qwen4exp/micro.f32.gguf"
#define ODD "qwen4exp/odd.f32.gguf"
#define MIXED "qwen4exp/hq.ud.gguf" /* weights of many formats */
#define DEEPSEEK "deepseek4/tiny.gguf"

/* ---- logits ---- */

/* Logits of a text that is read in one window at first, then in windows of `step` rows. */
static float *read_text(const struct opened *o, struct varve_session_options options, size_t step) {
    int32_t tokens[TEXT];
    size_t v = o->info.vocabulary;
    float *logits = malloc(TEXT * v * sizeof *logits);
    options.context = CONTEXT;
    options.window = options.logits = TEXT;
    options.threads = 1;
    struct varve_session *s = open_session(o, &options);
    random_tokens(o, 11, tokens, TEXT);
    for (size_t at = 0, n = START; at < TEXT; at += n, n = step) {
        n = n < TEXT - at ? n : TEXT - at;
        advance(s, o, 0, tokens + at, n, logits + at * v);
    }
    varve_session_close(s);
    return logits;
}

static void compare(const char *model, size_t step, struct varve_session_options how) {
    struct opened o = open_model(model);
    float *want = read_text(&o, how, TEXT);
    how.device = VARVE_DEVICE_CUDA_EMULATED;
    float *got = read_text(&o, how, step);
    assert_memory_equal(got, want, TEXT * o.info.vocabulary * sizeof *want);
    free(got);
    free(want);
    close_model(&o);
}

static void logits_have_the_cpus_bits(void **state) {
    (void)state;
    compare(MICRO, 1, (struct varve_session_options){0});
    compare(MICRO, 3, (struct varve_session_options){.float_activations = true});
    compare(ODD, 1, (struct varve_session_options){0});
    compare(MIXED, 1, (struct varve_session_options){0});
    compare(MIXED, 3, (struct varve_session_options){.float_activations = true});
    compare(DEEPSEEK, 1, (struct varve_session_options){0});
    compare(DEEPSEEK, 3, (struct varve_session_options){.float_activations = true});
}

static void however_they_are_made(void **state) {
    (void)state;
    compare(MICRO, 3, (struct varve_session_options){.tables = VARVE_TABLES_HOST});
    compare(MICRO, 3, (struct varve_session_options){.no_recordings = true});
    compare(MICRO, 3, (struct varve_session_options){.all_barriers = true, .kv_f16 = true});
}

/* ---- windows that are verified ---- */

/* The same steps on both devices. */
struct both {
    struct opened o;
    struct varve_session *s[2];
};

static struct both open_both(const char *model, const struct varve_session_options *how) {
    struct both b = {.o = open_model(model)};
    struct varve_session_options options = *how;
    options.mtp = b.o.info.mtp_layers > 0;
    options.threads = 1;
    b.s[0] = open_session(&b.o, &options);
    options.device = VARVE_DEVICE_CUDA_EMULATED;
    b.s[1] = open_session(&b.o, &options);
    return b;
}

static void close_both(struct both *b) {
    varve_session_close(b->s[0]);
    varve_session_close(b->s[1]);
    close_model(&b->o);
}

static void same_logits(const struct both *b, size_t rows) {
    for (uint32_t i = 0; i < rows; i++) {
        assert_memory_equal(varve_session_logits(b->s[0], i), varve_session_logits(b->s[1], i),
                            b->o.info.vocabulary * sizeof(float));
    }
}

static void same_state(const struct both *b, uint32_t slot) {
    size_t bytes[2];
    void *state[2] = {state_of(b->s[0], slot, &bytes[0]), state_of(b->s[1], slot, &bytes[1])};
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(state[0], state[1], bytes[0]);
    free(state[0]);
    free(state[1]);
}

static void evaluate(const struct both *b, const struct varve_row *rows, size_t count,
                     enum varve_mode mode) {
    struct varve_error error = {0};
    for (int i = 0; i < 2; i++) {
        if (varve_session_evaluate(b->s[i], rows, count, mode, NULL, NULL, &error) != VARVE_OK) {
            fail_msg("%s", error.message);
        }
    }
    same_logits(b, count);
}

static void draft(const struct both *b, uint32_t slot, int32_t token) {
    enum { STEPS = 3 };
    int32_t drafts[2][STEPS];
    struct varve_error error = {0};
    for (int i = 0; i < 2 && b->o.info.mtp_layers > 0; i++) {
        assert_int_equal(varve_session_draft(b->s[i], slot, token, STEPS, drafts[i], NULL, &error),
                         VARVE_OK);
    }
    assert_true(b->o.info.mtp_layers == 0 || memcmp(drafts[0], drafts[1], sizeof drafts[0]) == 0);
}

/* A start, then windows of which 0, 1, 2, 3, 4 rows are kept, each followed by drafts. */
static void verified_committed_and_drafted(void **state) {
    (void)state;
    enum { ROWS = 4 };
    static const char *const models[] = {MICRO, MIXED, DEEPSEEK};
    for (size_t m = 0; m < 3; m++) {
        const struct varve_session_options how = {
            .context = CONTEXT, .window = START, .logits = START};
        struct both b = open_both(models[m], &how);
        int32_t tokens[CONTEXT];
        struct varve_row rows[START];
        struct varve_error error = {0};
        random_tokens(&b.o, 12, tokens, CONTEXT);
        for (size_t i = 0; i < START; i++) {
            rows[i] = (struct varve_row){0, tokens[i], true};
        }
        evaluate(&b, rows, START, VARVE_ADVANCE);
        for (uint32_t keep = 0, at = START; keep <= ROWS; at += keep++) {
            for (size_t i = 0; i < ROWS; i++) {
                rows[i].token = tokens[at + i];
            }
            evaluate(&b, rows, ROWS, VARVE_VERIFY);
            for (int i = 0; i < 2; i++) {
                assert_int_equal(varve_session_commit(b.s[i], 0, keep, &error), VARVE_OK);
            }
            same_state(&b, 0);
            draft(&b, 0, tokens[at + keep]);
        }
        close_both(&b);
    }
}

/* Rows of three sequences mixed, some of them without logits. */
static void sequences_share_windows(void **state) {
    (void)state;
    enum { ROWS = 9, WINDOWS = 3, SLOTS = 3 };
    static const char *const models[] = {ODD, MIXED, DEEPSEEK};
    for (size_t m = 0; m < 3; m++) {
        const struct varve_session_options how = {
            .slots = SLOTS, .context = CONTEXT, .window = ROWS, .logits = ROWS};
        struct both b = open_both(models[m], &how);
        int32_t tokens[ROWS * WINDOWS];
        random_tokens(&b.o, 13, tokens, ROWS * WINDOWS);
        for (size_t at = 0; at < ROWS * WINDOWS; at += ROWS) {
            struct varve_row rows[ROWS];
            for (size_t i = 0; i < ROWS; i++) {
                rows[i] =
                    (struct varve_row){(uint32_t)((i * i + at) % SLOTS), tokens[at + i], true};
            }
            evaluate(&b, rows, ROWS, VARVE_ADVANCE);
        }
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            same_state(&b, slot);
        }
        close_both(&b);
    }
}

/* ---- trouble ---- */

/* What a model with an infinite weight gives: an error's code. */
static int evaluate_damaged(const struct opened *o, enum varve_device device,
                            struct varve_error *error) {
    struct varve_session_options options = {.context = CONTEXT, .threads = 1, .device = device};
    struct varve_session *s = open_session(o, &options);
    struct varve_row row = {0, 1, true};
    int code = varve_session_evaluate(s, &row, 1, VARVE_ADVANCE, NULL, NULL, error);
    varve_session_close(s);
    return code;
}

/* Of several steps in trouble the first one is told. */
static void trouble_is_told_as_on_the_cpu(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    struct edited_tensor *t = edited_tensor(e, "blk.1.ffn_down_shexp.weight");
    ((float *)(void *)t->data)[3] = 3e38f;
    ((float *)(void *)t->data)[4] = 3e38f;
    edited_write(e, temporary_file(&folder, "damaged.gguf"));
    edited_close(e);
    struct opened o = open_path(temporary_file(&folder, "damaged.gguf"), false);
    struct varve_error want = {0}, got = {0};
    int code = evaluate_damaged(&o, VARVE_DEVICE_CPU, &want);
    assert_true(code < 0);
    assert_int_equal(evaluate_damaged(&o, VARVE_DEVICE_CUDA_EMULATED, &got), code);
    assert_string_equal(got.message, want.message);
    close_model(&o);
}

/* ---- kernels ---- */

static bool has_kernel(const struct vv_operation *operation) {
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        if (v->launch) {
            return true;
        }
    }
    return false;
}

static void every_operation_has_kernels(void **state) {
    (void)state;
    struct vv_device *device = NULL;
    struct vv_error error;
    assert_int_equal(vv_device_open(VV_DEVICE_CUDA_EMULATED, NULL, &device, &error), VV_OK);
    for (size_t f = 0; vv_operation_folders[f]; f++) {
        const struct vv_operation *const *o = vv_operation_folders[f]->operations;
        for (; *o; o++) {
            if (!has_kernel(*o)) {
                fail_msg("%s has no kernel", (*o)->name);
            }
        }
    }
    device->calls->close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_kernels),
        cmocka_unit_test(logits_have_the_cpus_bits),
        cmocka_unit_test(however_they_are_made),
        cmocka_unit_test(verified_committed_and_drafted),
        cmocka_unit_test(sequences_share_windows),
        cmocka_unit_test(trouble_is_told_as_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
