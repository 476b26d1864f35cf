/*
 * What host memory keeps of sequences, so that no token is read twice: their tokens, and their
 * state in blocks that many may own.
 *
 *   page   what the growing parts of PAGE tokens hold; the last one of a sequence may have fewer
 *   mark   the moving parts at one length: a sequence can be taken back to it
 *
 * A sequence restored from here and read on shares all but its new pages and marks with what it
 * came from. All blocks together stay within a budget; the sequences used longest ago go first.
 */
#pragma once
#include "base/error.h"
#include "session/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VV_PAGE_TOKENS = 256 };

struct vv_block {
    unsigned owners;
    size_t position; /* length of the sequence up to its end */
    size_t bytes;
    uint8_t data[]; /* [bytes]: an extent's serial form (session/state.h) */
};

/* In ascending position. */
struct vv_blocks {
    struct vv_block **at;
    size_t count, room;
};

struct vv_sequence {
    int32_t *tokens; /* [length] */
    size_t length;
    struct vv_blocks pages, marks;
    uint64_t used; /* when: a larger number is later */
};

struct vv_store {
    uint64_t budget, bytes; /* of all blocks */
    struct vv_pool *pool;   /* where blocks lie as long as it has room; NULL: nowhere special */
    struct vv_sequence **kept;
    size_t count, room;
    uint64_t clock;
};

/* A block with one owner; NULL: no memory. */
struct vv_block *vv_block_new(struct vv_store *store, size_t position, size_t bytes);
void vv_block_drop(struct vv_store *store, struct vv_block *block);

/* Adds a block in its order, in place of one that has its position, and becomes its owner; on
 * failure (no memory) the block is dropped. */
bool vv_blocks_add(struct vv_store *store, struct vv_blocks *blocks, struct vv_block *block);
/* Becomes an owner of those of `from` up to `position` in place of what `to` has. False: no memory,
 * and `to` is empty. */
bool vv_blocks_share(struct vv_store *store, struct vv_blocks *to, const struct vv_blocks *from,
                     size_t position);
/* Drops those beyond `position`. */
void vv_blocks_cut(struct vv_store *store, struct vv_blocks *blocks, size_t position);
/* Drops marks that can be done without where marks are at most `spacing` apart, but not the last
 * few. */
void vv_marks_thin(struct vv_store *store, struct vv_blocks *marks, size_t spacing);
/* The last one at or before `position`; NULL: none. */
struct vv_block *vv_blocks_before(const struct vv_blocks *blocks, size_t position);

/* Drops all blocks and frees their lists; the tokens are the owner's. */
void vv_sequence_empty(struct vv_store *store, struct vv_sequence *sequence);

/* How many tokens two texts begin with alike. */
size_t vv_common_tokens(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count);

/*
 * Takes a sequence, which was made with malloc as its tokens, into the store. Those that it goes on
 * from leave, and it has their marks; one that goes on from it gets its marks instead, and it
 * leaves. Then the store is brought within its budget, at the cost of others. Fails where even that
 * is not enough, or without memory; the sequence is freed then.
 */
int vv_store_keep(struct vv_store *store, struct vv_sequence *sequence, struct vv_error *error);
/* Drops the kept sequences that were used longest ago, but not `spared`, until `bytes` more fit;
 * says if they do. */
bool vv_store_make_room(struct vv_store *store, uint64_t bytes, const struct vv_sequence *spared);
/* Frees all that is kept. */
void vv_store_clear(struct vv_store *store);
