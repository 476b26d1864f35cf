/* The operation's variants, for this folder alone. */
#pragma once
#include "op/compress/contract.h"
#include "registry/check.h"

static inline size_t vv_compress_channels(const struct vv_compress_rows *a) {
    return a->overlap ? 2 * a->width : a->width;
}

static inline bool vv_compress_completes(const struct vv_compress_rows *a, size_t row) {
    return ((size_t)a->window->position[row] + 1) % a->ratio == 0;
}

/* The candidates of a row that completes a block, ascending in position; returns how many. */
size_t vv_compress_candidates(const struct vv_compress_rows *a, size_t row,
                              struct vv_candidate *to /* [VV_COMPRESS_MOST] */);

int vv_compress_reference(const void *args, size_t begin, size_t end);
int vv_compress_portable(const void *args, size_t begin, size_t end);
int vv_compress_portable_avx2(const void *args, size_t begin, size_t end);
int vv_compress_portable_avx512(const void *args, size_t begin, size_t end);
void vv_compress_check(struct vv_check *check);
void vv_compress_bench(struct vv_bench *bench);
