/*
 * The metadata of a model's file, read key by key. The first failure is kept, later calls do
 * nothing, so that a list of keys reads as a list; the caller returns `code`. Keys are named
 * without the architecture and its point.
 */
#pragma once
#include "gguf/gguf.h"

enum { VV_COUNT_MAX = 1 << 24, VV_LAYERS_MAX = 4096, VV_STOPS_MAX = 8 };

struct vv_metadata {
    const struct vv_gguf *file;
    const char *architecture;
    struct vv_error *error;
    int code;
};

/* Keeps the failure `FILE: the metadata key "KEY" WHY`. */
void vv_refuse_key(struct vv_metadata *m, const char *key, const char *why);

bool vv_has_key(const struct vv_metadata *m, const char *key);

/* A whole number between `least` and `most`, which is `least` after a failure. */
size_t vv_number(struct vv_metadata *m, const char *key, uint64_t least, uint64_t most);

/* The same, or `missing` without the key. */
size_t vv_number_or(struct vv_metadata *m, const char *key, uint64_t least, uint64_t most,
                    size_t missing);

/* A number above 0, which is 1 after a failure. */
double vv_real(struct vv_metadata *m, const char *key);

/* At least `count` whole numbers; more are let be. */
void vv_numbers(struct vv_metadata *m, const char *key, size_t count, uint64_t *to);

/* Rows of the embedding's table, to which the file's token list, if any, must agree; 0 without a
 * table. */
size_t vv_read_vocabulary(struct vv_metadata *m);

/* Tokens that end an answer. */
struct vv_stops {
    int32_t id[VV_STOPS_MAX];
    size_t count;
};

/* Adds the token that the file names under `key` (in full), if it does, if it is one, and if it is
 * new. */
void vv_read_stop(struct vv_metadata *m, const char *key, size_t vocabulary,
                  struct vv_stops *stops);

/* Adds the token of that text in the file's vocabulary, if there is one and it is new. */
void vv_read_stop_text(struct vv_metadata *m, const char *text, size_t vocabulary,
                       struct vv_stops *stops);

/* [dims / 2] rotary frequencies by `base` (base/rotary.h), to be freed; NULL after a failure. */
uint64_t *vv_read_turns(struct vv_metadata *m, double base, size_t dims);
