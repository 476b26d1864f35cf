/* A pair of values by a thread, of as many heads as it is told. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/rope_pairs/contract.h"
VV_C_END

/* Pair i of N heads from `head` on, which turn by the same angle; their values are asked for
 * together. */
template <unsigned N>
static __device__ inline void vv_rotate_pairs(const struct vv_rope_pairs &a, int32_t position,
                                              unsigned row, unsigned head, unsigned i) {
    float *x = a.x + row * a.row_stride + head * a.head_stride + 2 * i, even[N], odd[N], s, c;
    unsigned left = (unsigned)a.heads - head;
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        const float *from = x + (k < left ? k : 0) * a.head_stride;
        even[k] = from[0];
        odd[k] = from[1];
    }
    vv_sincos_turn((uint64_t)position * a.turn[i], &s, &c);
    s = a.back ? -s : s;
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        if (k < left) {
            float *to = x + k * a.head_stride;
            to[0] = fmaf(even[k], c, -(odd[k] * s));
            to[1] = fmaf(odd[k], c, even[k] * s);
        }
    }
}
