/*
 * A model in every format runs: conformance_quantize FIXTURES. heads.f16 is written with its
 * matrices in each type that has an encoder; what is printed is how far its logits are then from
 * those of the source, relative RMS. Its weights are random, and magnify errors.
 */
#include "quant/format.h"
#include "support/temporary.h"
#include "varve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 48 };

struct run {
    struct varve_file *file;
    struct varve_model *model;
    struct varve_session *session;
    float *logits; /* [count] */
    size_t count;
};

static void close_run(struct run *run) {
    varve_session_close(run->session);
    varve_model_close(run->model);
    varve_file_close(run->file);
    free(run->logits);
}

static int sink(void *context, size_t row, const float *logits, struct varve_error *error) {
    struct run *run = context;
    size_t vocabulary = run->count / TOKENS;
    (void)error;
    for (size_t i = 0; i < vocabulary; i++) {
        run->logits[row * vocabulary + i] = logits[i];
    }
    return VARVE_OK;
}

static int evaluate(const char *path, struct run *run, struct varve_error *error) {
    const struct varve_session_options options = {.context = TOKENS, .logits = TOKENS};
    struct varve_model_info info;
    struct varve_row rows[TOKENS];
    int code = varve_file_open(path, false, &run->file, error);
    if (code == VARVE_OK) {
        code = varve_model_open(run->file, NULL, NULL, &run->model, error);
    }
    if (code == VARVE_OK) {
        code = varve_session_open(run->model, &options, &run->session, error);
    }
    if (code != VARVE_OK) {
        return code;
    }
    varve_model_info(run->model, &info);
    run->count = TOKENS * info.vocabulary;
    run->logits = calloc(run->count, sizeof *run->logits);
    for (size_t i = 0; i < TOKENS; i++) {
        rows[i] = (struct varve_row){0, (int32_t)(i * 7919 % info.vocabulary), true};
    }
    return varve_session_evaluate(run->session, rows, TOKENS, VARVE_ADVANCE, sink, run, error);
}

static double difference(const struct run *a, const struct run *b) {
    double left = 0, all = 0;
    for (size_t i = 0; i < a->count; i++) {
        left += pow((double)a->logits[i] - (double)b->logits[i], 2);
        all += pow((double)a->logits[i], 2);
    }
    return sqrt(left / all);
}

/* Whether the model runs with that type, and its logits have to do with the source's: unrelated
 * ones would differ by 1.4. */
static bool run_type(const struct run *source, const char *type, const char *path) {
    struct run run = {0};
    struct varve_error error;
    const struct varve_quantize_options options = {.type = type};
    int code = varve_quantize(source->file, path, &options, &error);
    if (code == VARVE_OK) {
        code = evaluate(path, &run, &error);
    }
    double d = code == VARVE_OK ? difference(source, &run) : INFINITY;
    printf("%-8s %s%.4f\n", type, code == VARVE_OK ? "" : error.message, d);
    close_run(&run);
    return d < 1.2;
}

int main(int argc, char **argv) {
    char model[4096];
    struct run source = {0};
    struct varve_error error;
    size_t passed = 0, failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    snprintf(model, sizeof model, "%s/qwen4exp/heads.f16.gguf", argv[1]);
    if (evaluate(model, &source, &error) != VARVE_OK) {
        printf("%s\nquantize: 0 passed, 1 failed\n", error.message);
        return 1;
    }
    struct temporary folder = temporary_make();
    for (size_t i = 0; vv_format_at(i); i++) {
        if (vv_format_at(i)->encode) {
            bool good = run_type(&source, vv_format_at(i)->name, temporary_file(&folder, "m.gguf"));
            passed += good;
            failed += !good;
        }
    }
    temporary_remove(&folder);
    close_run(&source);
    printf("quantize: %zu passed, %zu failed\n", passed, failed);
    return failed > 0;
}
