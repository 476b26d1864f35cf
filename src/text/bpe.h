/*
 * Byte-pair encoding by rank: of all neighbours in a piece that have a merge, the one that comes
 * first in the list of merges is joined, the leftmost first, until none is left. A piece is never
 * looked up whole: some tokens have no merges that lead to them, and the model never saw them.
 */
#pragma once
#include "text/grow.h"

#include <stddef.h>
#include <stdint.h>

struct vv_bpe_merge {
    int32_t left, right, whole; /* ids */
};

struct vv_bpe_pair;

struct vv_bpe {
    int32_t bytes[256];          /* the id of each byte's token: to be set by whoever builds this */
    struct vv_bpe_merge *merges; /* [merge_count] in order of rank; owned */
    size_t merge_count;
    struct vv_bpe_pair *pairs; /* [1 << pair_bits] hash from (left, right) to rank; owned */
    unsigned pair_bits;
};

/* Builds `pairs` from `merges`. A pair that comes twice has its first rank. */
int vv_bpe_index(struct vv_bpe *bpe, struct vv_error *error);
void vv_bpe_free(struct vv_bpe *bpe);

/* Memory that vv_bpe_encode keeps from piece to piece; {0} at first. */
struct vv_bpe_work {
    struct vv_bpe_symbol *symbols;
    uint64_t *heap;
    size_t symbol_capacity, heap_capacity;
};
void vv_bpe_work_free(struct vv_bpe_work *work);

/* Appends the ids of one piece, below 2^31 - 1 bytes. Time n log n: each merge shortens the list.
 */
int vv_bpe_encode(const struct vv_bpe *bpe, struct vv_bpe_work *work, const char *piece,
                  size_t length, struct vv_ids *out, struct vv_error *error);
