/*
 * A segment of 128 values by a warp, four a thread. The largest magnitude of 32 values is that of
 * eight threads, of 128 that of all; sums of 16 are those of four.
 */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/quantize_rows/contract.h"
VV_C_END

int vv_cuda_quantize_rows(const void *args, const vv_launch *on); /* the variant's launch */

/* The planes to be made if a whole's step quantises rows that others of it make at x, and wants no
 * panels; else NULL. */
static inline const vv_planes *vv_planes_of(const vv_whole *whole, size_t step, const float *x,
                                            size_t width, size_t rows) {
    if (step >= whole->count || whole->variant[step]->launch != vv_cuda_quantize_rows) {
        return nullptr;
    }
    auto a = static_cast<const struct vv_quantize_rows *>(whole->step[step].args);
    const vv_planes *p = &a->planes;
    bool same = p->x == x && p->width == width && vv_rows(a->rows) == rows;
    return same && !p->coarse_panel && !p->fine_panel ? p : nullptr;
}

namespace {

/* The largest of eight neighbours. */
__device__ uint32_t largest_of_eight(uint32_t mine) {
    for (int apart = 4; apart > 0; apart /= 2) {
        uint32_t other = __shfl_xor_sync(0xffffffffu, mine, apart);
        mine = mine > other ? mine : other;
    }
    return mine;
}

/* Four values to four integers, and the unit's scale. */
__device__ bool quantise(const float *x, uint32_t top, int *q, float *scale) {
    float amax = vv_from_bits(top), inv = 127.0f / amax;
    *scale = amax / 127.0f;
    if (top < vv_bits(0x1p-60f)) {
        *scale = inv = 0.0f;
    }
    for (int i = 0; i < 4; i++) {
        q[i] = __float2int_rn(x[i] * inv);
    }
    return top < vv_bits(0x1p+80f);
}

__device__ void store(const int *q, int8_t *to, int16_t *sum16, bool here) {
    int sum = q[0] + q[1] + q[2] + q[3];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (here) {
        *reinterpret_cast<char4 *>(to) =
            make_char4((signed char)q[0], (signed char)q[1], (signed char)q[2], (signed char)q[3]);
        if (threadIdx.x % 4 == 0) {
            *sum16 = (int16_t)sum;
        }
    }
}

/* The planes of a row's segment, panels apart; x: the thread's values, +0 beyond the row's end.
 * Trouble is told. */
__device__ void quantise_segment(const vv_planes &p, unsigned row, unsigned segment, float4 four,
                                 vv_trouble trouble) {
    unsigned width = (unsigned)p.width, segments = (width + VV_COARSE_UNIT - 1) / VV_COARSE_UNIT;
    unsigned lane = threadIdx.x % 32, first = segment * VV_COARSE_UNIT + 4 * lane;
    size_t at = (size_t)row * width + first;
    bool here = first < width; /* the width is a multiple of 32 */
    const float x[4] = {four.x, four.y, four.z, four.w};
    uint32_t top = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t magnitude = vv_bits(x[i]) & 0x7fffffffu;
        top = magnitude > top ? magnitude : top;
    }
    uint32_t fine = largest_of_eight(top), coarse = __reduce_max_sync(0xffffffffu, top);
    int q[4];
    float scale;
    bool good = true;
    if (p.coarse_q) {
        good = quantise(x, coarse, q, &scale);
        store(q, p.coarse_q + at, p.coarse_sum16 + at / 16, here);
        if (lane == 0) {
            p.coarse_scale[(size_t)row * segments + segment] = scale;
        }
    }
    if (p.fine_q) {
        good = quantise(x, fine, q, &scale) && good;
        store(q, p.fine_q + at, p.fine_sum16 + at / 16, here);
        if (here && lane % 8 == 0) {
            p.fine_scale[at / VV_FINE_UNIT] = scale;
        }
    }
    if (!good) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

} // namespace
