/*
 * Texts that begin alike, and what plain decoding gives at every place of each: logits, and a hash
 * of the state. One thread, one token at a time, one sequence, no checkpoint.
 */
#pragma once
#include "support/opened.h"

enum { TEXTS = 4, TEXT_TOKENS = 330 };

struct texts {
    struct opened opened;
    size_t vocabulary;
    int32_t separator; /* of the n-gram embedding */
    int32_t tokens[TEXTS][TEXT_TOKENS];
    float *logits[TEXTS];                   /* [TEXT_TOKENS][vocabulary] */
    uint64_t state[TEXTS][TEXT_TOKENS + 1]; /* after so many tokens */
};

/* `options` as the test's own sessions have them: what changes results counts. */
void texts_open(struct texts *texts, const char *model,
                const struct varve_session_options *options);
void texts_close(struct texts *texts);

/* Tokens that two of them begin with alike. */
size_t texts_common(const struct texts *texts, size_t a, size_t b);

/* A hash of a slot's state in its serial form. */
uint64_t texts_state(struct varve_session *session, uint32_t slot);
