/*
 * Memory of a device that runs out: `device_memory MODEL DEVICE [EVERY]` refuses each call for it
 * in turn (or one in EVERY), while a model is loaded, a session opened, and windows are run and
 * recorded. Every refusal has to end in a sentence; what was asked for has to work when it is asked
 * for again; and at last all logits have to be those of a session that was never refused anything.
 */
#include "base/error.h"
#include "device/device.h"
#include "device/launch.h"
#include "registry/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <varve.h>

enum { PROMPT = 40, ROUNDS = 4, CONTEXT = 96 };

/* ---- refusing ---- */

static uint64_t countdown, refused; /* calls until one is refused; 0: none is */

static bool refuses(void) {
    bool now = countdown > 0 && --countdown == 0;
    refused += now;
    return now;
}

static const struct vv_device_calls *calls;
static const struct vv_launcher *launcher;

static void *allocate(struct vv_device *device, size_t bytes) {
    return refuses() ? NULL : calls->allocate(device, bytes);
}

static void *host(struct vv_device *device, size_t bytes) {
    return refuses() ? NULL : launcher->host(device, bytes);
}

/* A recording takes memory when it is made playable. */
static int end(struct vv_device *device, void **recording, struct vv_error *error) {
    int code = launcher->end(device, recording, error);
    if (code == VV_OK && recording && refuses()) {
        launcher->forget(device, *recording);
        *recording = NULL;
        code = vv_fail(error, VV_ERROR_MEMORY, "no memory for a recording");
    }
    return code;
}

static void on_opened(struct vv_device *device) {
    static struct vv_device_calls our_calls;
    static struct vv_launcher our_launcher;
    calls = device->calls;
    our_calls = *calls;
    our_calls.allocate = allocate;
    device->calls = &our_calls;
    if ((launcher = device->launcher) != NULL) {
        our_launcher = *launcher;
        our_launcher.host = host;
        our_launcher.end = end;
        device->launcher = &our_launcher;
    }
}

/* ---- what is asked for ---- */

struct job {
    const struct varve_model *model;
    struct varve_session_options options;
    size_t vocabulary;
    float *logits; /* [ROUNDS + 1][vocabulary] of the last row of each window */
    size_t at;
    uint64_t failures;
};

static void fail(const char *what, const struct varve_error *error) {
    fprintf(stderr, "device_memory: %s: %s\n", what, error->message);
    exit(EXIT_FAILURE);
}

/* A refusal is one sentence about memory; true: it is to be asked for again. */
static bool again(struct job *job, int code, uint64_t before, const struct varve_error *error) {
    if (code == VARVE_OK) {
        return false;
    }
    if (code != VARVE_ERROR_MEMORY || refused == before || !strstr(error->message, "memory")) {
        fail("a refusal is told otherwise", error);
    }
    job->failures++;
    return true;
}

static int32_t token_at(const struct job *job, size_t i) {
    return (int32_t)(7 * i % job->vocabulary);
}

/* Reads `count` tokens from position `from` on; after a refusal the sequence is empty, and all of
 * it is read again. */
static void evaluate(struct job *job, struct varve_session *session, size_t from, size_t count,
                     enum varve_mode mode) {
    struct varve_row rows[CONTEXT];
    struct varve_error error;
    uint64_t before = refused;
    size_t begin = varve_session_length(session, 0);
    for (;;) {
        for (size_t i = begin; i < from + count; i++) {
            rows[i - begin] = (struct varve_row){0, token_at(job, i), i + 1 == from + count};
        }
        int code = begin < from ? varve_session_evaluate(session, rows, from - begin, VARVE_ADVANCE,
                                                         NULL, NULL, &error)
                                : VARVE_OK;
        code = code ? code
                    : varve_session_evaluate(session, rows + (from - begin), count, mode, NULL,
                                             NULL, &error);
        if (!again(job, code, before, &error)) {
            break;
        }
        before = refused;
        begin = varve_session_length(session, 0);
    }
    memcpy(job->logits + job->at++ * job->vocabulary, varve_session_logits(session, 0),
           job->vocabulary * sizeof *job->logits);
}

/* A prompt, windows of one row (of which the second is recorded), one that is verified and kept. */
static void whole_session(struct job *job) {
    struct varve_session *session = NULL;
    struct varve_error error;
    uint64_t before = refused;
    job->at = 0;
    while (again(job, varve_session_open(job->model, &job->options, &session, &error), before,
                 &error)) {
        before = refused;
    }
    evaluate(job, session, 0, PROMPT, VARVE_ADVANCE);
    for (size_t i = 0; i < ROUNDS - 1; i++) {
        evaluate(job, session, PROMPT + i, 1, VARVE_ADVANCE);
    }
    evaluate(job, session, PROMPT + ROUNDS - 1, 2, VARVE_VERIFY);
    before = refused;
    while (again(job, varve_session_commit(session, 0, 1, &error), before, &error)) {
        job->at--; /* its logits again */
        evaluate(job, session, PROMPT + ROUNDS - 1, 2, VARVE_VERIFY);
        before = refused;
    }
    varve_session_close(session);
}

static enum varve_device device_named(const char *name) {
    static const char *const names[] = {"cpu", "mock", "cuda", "cuda-emulated"};
    size_t i = 0;
    while (i < 4 && strcmp(names[i], name) != 0) {
        i++;
    }
    if (i == 4) {
        fprintf(stderr, "device_memory: no device is called %s\n", name);
        exit(EXIT_FAILURE);
    }
    return (enum varve_device)i;
}

static void open_file(const char *path, struct varve_file **file, struct varve_model **model) {
    struct varve_error error; /* plain reads: so the CPU takes memory for weights, too */
    if (varve_file_open(path, true, file, &error) != VARVE_OK ||
        varve_model_open(*file, NULL, NULL, model, &error) != VARVE_OK) {
        fail(path, &error);
    }
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: device_memory MODEL DEVICE [EVERY]\n");
        return EXIT_FAILURE;
    }
    struct varve_file *file;
    struct varve_model *model;
    struct varve_model_info info;
    open_file(words[1], &file, &model);
    varve_model_info(model, &info);
    struct job job = {
        .model = model,
        .vocabulary = info.vocabulary,
        .options = {.context = CONTEXT, .threads = 1, .device = device_named(words[2])}};
    const size_t bytes = (ROUNDS + 1) * info.vocabulary * sizeof(float);
    float *want = malloc(bytes);
    job.logits = malloc(bytes);
    uint64_t every = count > 3 ? strtoull(words[3], NULL, 10) : 1, n = 1;
    if (!want || !job.logits || every == 0) {
        return EXIT_FAILURE;
    }
    vv_device_opened = on_opened;
    whole_session(&job);
    memcpy(want, job.logits, bytes);
    for (uint64_t left = 0; left == 0; n += every) {
        countdown = n;
        whole_session(&job);
        left = countdown;
        countdown = 0;
        if (memcmp(want, job.logits, bytes) != 0) {
            fprintf(stderr, "device_memory: other logits after refusal %llu\n",
                    (unsigned long long)n);
            return EXIT_FAILURE;
        }
    }
    printf("memory: %llu refusals, each told in a sentence, each followed by the same logits\n",
           (unsigned long long)job.failures);
    varve_model_close(model);
    varve_file_close(file);
    free(want);
    free(job.logits);
    return job.failures > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
