/*
 * Session files: a sequence's tokens, its state, and a text of whoever saved it. docs/sessions.md
 * has the format. A file is bound to the model and the settings that its bits come from; whatever
 * is wrong with it is told in one sentence, and nothing of a block is used before its checksum was
 * compared.
 */
#pragma once
#include "base/error.h"
#include "base/file.h"
#include "memory/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the bits of a state depend on, besides the tokens. */
struct vv_saved_origin {
    uint64_t geometry;    /* checksum of the model's metadata of its architecture */
    uint64_t weights;     /* of its tensors' names, types, shapes and samples of their data */
    uint64_t parts;       /* of the parts of the state as declared */
    uint32_t half_kv;     /* keys and values in half precision; 0 or 1, as those below */
    uint32_t draft_block; /* its state is there */
    uint32_t float_activations;
    uint32_t rounded_cache;
    uint32_t index_score; /* enum vv_index_arithmetic */
    uint32_t page_tokens;
};

enum vv_saved_kind {
    VV_SAVED_TOKENS,
    VV_SAVED_NOTE,
    VV_SAVED_PAGE, /* an extent VV_EXTENT_GROWN up to `position`, from the page before on */
    VV_SAVED_MARK, /* an extent VV_EXTENT_MOVING at `position`; the last one is the end's */
    VV_SAVED_END,
};

struct vv_saved_counts {
    uint64_t tokens, note_bytes;
    uint32_t marks, reserved;
};

/* ---- writing ---- */

struct vv_saving;
int vv_saving_open(const char *path, const struct vv_saved_origin *origin,
                   const struct vv_saved_counts *counts, struct vv_saving **saving,
                   struct vv_error *error);
/* The blocks in the order of their kinds, of each kind in ascending position. After a failure only
 * vv_saving_abandon may follow. */
int vv_saving_block(struct vv_saving *saving, enum vv_saved_kind kind, uint64_t position,
                    const void *bytes, size_t size, struct vv_error *error);
/* Ends the file and gives it its name; frees `saving`, on failure too. */
int vv_saving_finish(struct vv_saving *saving, struct vv_error *error);
void vv_saving_abandon(struct vv_saving *saving);

/* ---- reading ---- */

/* What the reader knows of its own state. */
struct vv_saved_expected {
    struct vv_saved_origin origin;
    const struct vv_state_part *parts; /* [part_count] */
    size_t part_count;
    size_t context; /* tokens that there is room for */
};

struct vv_saved_block {
    enum vv_saved_kind kind;
    size_t position, size;
    const uint8_t *bytes; /* [size], until the next block is read */
};

struct vv_saved;
/* Checks the header of an open file, which must outlive `*saved`, and `expected` too. */
int vv_saved_open(const struct vv_file *file, const struct vv_saved_expected *expected,
                  struct vv_saved **saved, struct vv_error *error);
void vv_saved_close(struct vv_saved *saved);
struct vv_saved_counts vv_saved_counts(const struct vv_saved *saved);
/* The next block; of the size that its kind and position have. After VV_SAVED_END there is none. */
int vv_saved_next(struct vv_saved *saved, struct vv_saved_block *block, struct vv_error *error);
