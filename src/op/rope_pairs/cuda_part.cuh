/* A pair of values by a thread. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/rope_pairs/contract.h"
VV_C_END

static __device__ inline void vv_rotate_pair(const struct vv_rope_pairs &a, int32_t position,
                                             unsigned row, unsigned head, unsigned i) {
    float *x = a.x + row * a.row_stride + head * a.head_stride + 2 * i;
    float even = x[0], odd = x[1], s, c;
    vv_sincos_turn((uint64_t)position * a.turn[i], &s, &c);
    s = a.back ? -s : s;
    x[0] = fmaf(even, c, -(odd * s));
    x[1] = fmaf(odd, c, even * s);
}
