/* A model of tests/data opened for a test, through the public interface alone. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "varve.h"

struct opened {
    struct varve_file *file;
    struct varve_model *model;
    struct varve_model_info info;
};

/* `name` below tests/data, or any path; `read`: by plain reads. Fails the test if it can't be
 * opened. */
struct opened open_model(const char *name);
struct opened open_path(const char *path, bool read);
void close_model(struct opened *opened);

/* Fails the test unless the file, or its model, is refused with a sentence that has all `words`
 * (they end with NULL). */
void refuse_path(const char *path, const char *const *words);
void message_has(const struct varve_error *error, const char *const *words);
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct varve_session *open_session(const struct opened *opened,
                                   const struct varve_session_options *options);

/* `count` ids that a sequence could have: random with the n-gram separator now and then; the same
 * for the same seed. */
void random_tokens(const struct opened *opened, uint32_t seed, int32_t *tokens, size_t count);

/* Evaluates tokens of one slot in one call; logits of all of them are appended to `logits` [count]
 * [vocabulary] if that isn't NULL. */
void advance(struct varve_session *session, const struct opened *opened, uint32_t slot,
             const int32_t *tokens, size_t count, float *logits);

/* Logits [count][vocabulary] of tokens read by a session of its own; free them. */
float *logits_of(const struct opened *opened, const struct varve_session_options *options,
                 const int32_t *tokens, size_t count);

/* The serial state of a slot; free it. */
void *state_of(struct varve_session *session, uint32_t slot, size_t *bytes);
