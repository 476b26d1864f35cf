/* The operation's variants and shapes, for this folder alone. */
#pragma once
#include "op/index_score/contract.h"
#include "registry/check.h"

enum { VV_INDEX_CHUNK = 64 }; /* blocks a unit */

/* Blocks of row r that are scored: 0 if it attends to everything. */
static inline size_t vv_index_blocks(const struct vv_index_score *a, size_t r) {
    size_t blocks = ((size_t)a->window->position[r] + 1) / a->ratio;
    return blocks > a->keep ? blocks : 0;
}

int vv_index_score_reference(const void *args, size_t begin, size_t end);
int vv_index_score_portable(const void *args, size_t begin, size_t end);
int vv_index_score_portable_avx2(const void *args, size_t begin, size_t end);
int vv_index_score_portable_avx512(const void *args, size_t begin, size_t end);

void vv_index_score_check(struct vv_check *check);
void vv_index_score_bench(struct vv_bench *bench);
