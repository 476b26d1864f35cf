#include "support/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opened open_path(const char *path, bool read) {
    struct opened o;
    struct varve_error error = {0};
    if (varve_file_open(path, read, &o.file, &error) != VARVE_OK ||
        varve_model_open(o.file, NULL, NULL, &o.model, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    varve_model_info(o.model, &o.info);
    return o;
}

struct opened open_model(const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%s/tests/data/%s", VARVE_SOURCE_DIR, name);
    return open_path(path, false);
}

void refuse_path(const char *path, const char *const *words) {
    struct varve_file *file = NULL;
    struct varve_model *model = NULL;
    struct varve_error error = {0};
    if (varve_file_open(path, false, &file, &error) == VARVE_OK &&
        varve_model_open(file, NULL, NULL, &model, &error) == VARVE_OK) {
        fail_msg("%s is not refused, which should be for \"%s\"", path, words[0]);
    }
    varve_file_close(file);
    message_has(&error, words);
}

void message_has(const struct varve_error *error, const char *const *words) {
    for (; *words; words++) {
        if (!strstr(error->message, *words)) {
            fail_msg("\"%s\" is not in: %s", *words, error->message);
        }
    }
}

void close_model(struct opened *opened) {
    varve_model_close(opened->model);
    varve_file_close(opened->file);
}

struct varve_session *open_session(const struct opened *opened,
                                   const struct varve_session_options *options) {
    struct varve_session *session;
    struct varve_error error = {0};
    if (varve_session_open(opened->model, options, &session, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    return session;
}

void random_tokens(const struct opened *opened, uint32_t seed, int32_t *tokens, size_t count) {
    int32_t separator = opened->info.stop_ids[opened->info.stop_count - 1];
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tokens[i] = seed >> 28 == 0 ? separator : (int32_t)((seed >> 8) % opened->info.vocabulary);
    }
}

struct collect {
    float *logits;
    size_t vocabulary;
};

static int append(void *context, size_t row, const float *logits, struct varve_error *error) {
    struct collect *c = context;
    (void)error;
    memcpy(c->logits + row * c->vocabulary, logits, c->vocabulary * sizeof *logits);
    return VARVE_OK;
}

void advance(struct varve_session *session, const struct opened *opened, uint32_t slot,
             const int32_t *tokens, size_t count, float *logits) {
    struct varve_error error = {0};
    struct collect c = {logits, opened->info.vocabulary};
    struct varve_row *rows = malloc((count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct varve_row){slot, tokens[i], logits != NULL};
    }
    int code = varve_session_evaluate(session, rows, count, VARVE_ADVANCE, logits ? append : NULL,
                                      &c, &error);
    free(rows);
    if (code != VARVE_OK) {
        fail_msg("%s", error.message);
    }
}

float *logits_of(const struct opened *opened, const struct varve_session_options *options,
                 const int32_t *tokens, size_t count) {
    float *logits = malloc(count * opened->info.vocabulary * sizeof *logits);
    struct varve_session *session = open_session(opened, options);
    advance(session, opened, 0, tokens, count, logits);
    varve_session_close(session);
    return logits;
}

void *state_of(struct varve_session *session, uint32_t slot, size_t *bytes) {
    struct varve_error error = {0};
    assert_int_equal(varve_session_state(session, slot, NULL, 0, bytes, &error), VARVE_OK);
    void *state = malloc(*bytes + 1);
    assert_int_equal(varve_session_state(session, slot, state, *bytes, bytes, &error), VARVE_OK);
    return state;
}
