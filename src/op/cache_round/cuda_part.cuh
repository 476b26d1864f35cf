/* round_fp8: a warp a block of values. round_fp4: a warp a vector, which stays in its registers. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/cache_round/round.h"
VV_C_END

namespace {

__device__ uint32_t magnitude(float x) {
    return vv_bits(x) & 0x7fffffffu;
}

__device__ uint32_t peak_of(uint32_t mine) {
    return __reduce_max_sync(0xffffffffu, mine);
}

/* Block `block` of a row that is rounded, by a warp. */
__device__ void round_fp8_block(const struct vv_round_fp8 &a, size_t row, size_t block,
                                vv_trouble trouble) {
    size_t first = block * VV_FP8_BLOCK + threadIdx.x % 32, second = first + 32;
    float *x = a.x + row * a.stride;
    float low = first < a.width ? x[first] : 0.0f, high = second < a.width ? x[second] : 0.0f;
    uint32_t own = magnitude(low), other = magnitude(high);
    uint32_t peak = peak_of(own > other ? own : other), field = vv_e4m3_field(peak);
    if (vv_round_refuses(peak)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    if (first < a.width) {
        x[first] = vv_e4m3_round(low, field);
    }
    if (second < a.width) {
        x[second] = vv_e4m3_round(high, field);
    }
}

/* Value 32 i + lane of a vector is x[i] of the lane. */
template <unsigned N> __device__ void hadamard(float (&x)[N], float unit) {
    VV_UNROLL
    for (unsigned stride = 1; stride < 32; stride *= 2) {
        float sign = threadIdx.x & stride ? -1.0f : 1.0f; /* of the own value, which comes second */
        VV_UNROLL
        for (unsigned i = 0; i < N; i++) {
            x[i] = fmaf(x[i], sign, __shfl_xor_sync(0xffffffffu, x[i], (int)stride));
        }
    }
    VV_UNROLL
    for (unsigned stride = 1; stride < N; stride *= 2) {
        VV_UNROLL
        for (unsigned i = 0; i < N; i++) {
            if ((i & stride) == 0) {
                float left = x[i], right = x[i + stride];
                x[i] = left + right;
                x[i + stride] = left - right;
            }
        }
    }
    VV_UNROLL
    for (unsigned i = 0; i < N; i++) {
        x[i] *= unit;
    }
}

/* A vector of N blocks by a warp: half of its lanes have a byte of a block each, and the next one
 * its scale. */
template <unsigned N>
__device__ void round_fp4_blocks(const struct vv_round_fp4 &a, size_t row, size_t head, float unit,
                                 vv_trouble trouble) {
    static_assert(VV_FP4_BLOCK == 32, "a block is a value a lane");
    constexpr unsigned half = VV_FP4_BLOCK / 2;
    unsigned lane = threadIdx.x % 32;
    const float *from = a.x + row * a.stride + head * (VV_FP4_BLOCK * N) + lane;
    float x[N];
    VV_UNROLL
    for (unsigned i = 0; i < N; i++) {
        x[i] = from[i * VV_FP4_BLOCK];
    }
    hadamard(x, unit);
    uint8_t *y = vv_fp4_row(&a, row, head) + (lane < half ? 1 + lane : 0);
    bool good = true;
    VV_UNROLL
    for (unsigned i = 0; i < N; i++) {
        uint32_t peak = peak_of(magnitude(x[i])), field = vv_e2m1_field(peak);
        uint32_t code = vv_e2m1_code(x[i], field);
        code |= __shfl_xor_sync(0xffffffffu, code, half) << 4;
        good = good && !vv_round_refuses(peak);
        if (lane <= half) {
            y[i * VV_FP4_BYTES] = (uint8_t)(lane < half ? code : field);
        }
    }
    if (!good) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

/* One of any width. */
__device__ inline void round_fp4_vector(const struct vv_round_fp4 &a, size_t row, size_t head,
                                        float unit, vv_trouble trouble) {
    switch (a.width / VV_FP4_BLOCK) {
    case 1:
        return round_fp4_blocks<1>(a, row, head, unit, trouble);
    case 2:
        return round_fp4_blocks<2>(a, row, head, unit, trouble);
    case 4:
        return round_fp4_blocks<4>(a, row, head, unit, trouble);
    case 8:
        return round_fp4_blocks<8>(a, row, head, unit, trouble);
    default:
        return round_fp4_blocks<VV_FP4_WIDTH_MAX / VV_FP4_BLOCK>(a, row, head, unit, trouble);
    }
}

/* What Hadamard's sums are multiplied by. */
inline float hadamard_unit(size_t width) {
    return (float)(1 / sqrt((double)width));
}

} // namespace
