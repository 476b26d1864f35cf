#include "support/texts.h"

#include <stdlib.h>
#include <string.h>

/* Where each text leaves the one before it: one late, one soon, one amid the first 64 keys. */
static const size_t leaves[TEXTS] = {0, 260, 131, 29};

uint64_t texts_state(struct varve_session *session, uint32_t slot) {
    size_t bytes;
    unsigned char *state = state_of(session, slot, &bytes);
    uint64_t hash = bytes;
    for (size_t i = 0; i < bytes; i += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, state + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    free(state);
    return hash;
}

static void read_text(struct texts *t, size_t text, const struct varve_session_options *options) {
    struct varve_session *session = open_session(&t->opened, options);
    t->logits[text] = malloc(TEXT_TOKENS * t->vocabulary * sizeof(float));
    for (size_t i = 0; i <= TEXT_TOKENS; i++) {
        t->state[text][i] = texts_state(session, 0);
        if (i < TEXT_TOKENS) {
            advance(session, &t->opened, 0, &t->tokens[text][i], 1,
                    t->logits[text] + i * t->vocabulary);
        }
    }
    varve_session_close(session);
}

void texts_open(struct texts *t, const char *model, const struct varve_session_options *options) {
    struct varve_session_options plain = {.context = options->context,
                                          .window = 1,
                                          .threads = 1,
                                          .mtp = options->mtp,
                                          .kv_f16 = options->kv_f16,
                                          .keep_bytes = 1};
    *t = (struct texts){.opened = open_model(model)};
    t->vocabulary = t->opened.info.vocabulary;
    t->separator = t->opened.info.stop_ids[t->opened.info.stop_count - 1];
    for (size_t i = 0; i < TEXTS; i++) {
        random_tokens(&t->opened, (uint32_t)i + 21, t->tokens[i], TEXT_TOKENS);
        memcpy(t->tokens[i], t->tokens[i ? i - 1 : 0], leaves[i] * sizeof t->tokens[i][0]);
        read_text(t, i, &plain);
    }
}

void texts_close(struct texts *t) {
    for (size_t i = 0; i < TEXTS; i++) {
        free(t->logits[i]);
    }
    close_model(&t->opened);
}

size_t texts_common(const struct texts *t, size_t a, size_t b) {
    size_t i = 0;
    while (i < TEXT_TOKENS && t->tokens[a][i] == t->tokens[b][i]) {
        i++;
    }
    return i;
}
