/* The operations' variants and what they share, for this folder alone. */
#pragma once
#include "base/math.h"
#include "op/cache_round/contract.h"
#include "registry/check.h"

enum { VV_FP8_BLOCK = 64, VV_FP4_BLOCK = 32, VV_FP4_BYTES = 17 /* of an MXFP4 block */ };

/* Whether the row's vector is rounded at all. */
static inline bool vv_completes(const struct vv_window *window, size_t row, size_t ratio) {
    return ((size_t)window->position[row] + 1) % ratio == 0;
}

/* Where the blocks of a vector go. */
static inline uint8_t *vv_fp4_row(const struct vv_round_fp4 *a, size_t row, size_t head) {
    if (a->y) {
        return a->y + (row * a->heads + head) * (a->width / VV_FP4_BLOCK * VV_FP4_BYTES);
    }
    int64_t entry = ((int64_t)a->window->position[row] + 1) / (int64_t)a->ratio - 1;
    return vv_state_at(&a->to, a->window->slot[row], entry);
}

int vv_round_fp8_reference(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable_avx2(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable_avx512(const void *args, size_t begin, size_t end);
int vv_round_fp4_reference(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable_avx2(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable_avx512(const void *args, size_t begin, size_t end);

void vv_cache_round_check(struct vv_check *check);
void vv_cache_round_bench(struct vv_bench *bench);
