/* round_fp8: a warp a block of values. round_fp4: a warp a vector. */
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

/*
 * A vector by a warp, which has shared memory for it. Values l, l + 32, ... are lane l's alone, so
 * that nobody waits; a few blocks are taken together, the last one again where there are fewer. In
 * the end half of the lanes have a byte of a block each, and the next one its scale.
 *
 * One form for all widths, in loops: a chain's kernel that has each width's own is slower in all
 * of its steps.
 */
__device__ void round_fp4_vector(const struct vv_round_fp4 &a, size_t row, size_t head, float unit,
                                 float *x, vv_trouble trouble) {
    static_assert(VV_FP4_BLOCK == 32, "a block is a value a lane");
    constexpr unsigned half = VV_FP4_BLOCK / 2, together = 4;
    unsigned lane = threadIdx.x % 32, blocks = (unsigned)a.width / VV_FP4_BLOCK;
    auto block = [&](unsigned i) { return i < blocks ? i : blocks - 1; };
    const float *from = a.x + row * a.stride + head * a.width + lane;
    x += lane;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < blocks; first += together) {
        float v[together];
        VV_UNROLL
        for (unsigned k = 0; k < together; k++) {
            v[k] = from[block(first + k) * VV_FP4_BLOCK];
        }
        VV_UNROLL
        for (unsigned stride = 1; stride < VV_FP4_BLOCK; stride *= 2) {
            float sign = lane & stride ? -1.0f : 1.0f; /* of the own value, which comes second */
            VV_UNROLL
            for (unsigned k = 0; k < together; k++) {
                v[k] = fmaf(v[k], sign, __shfl_xor_sync(0xffffffffu, v[k], (int)stride));
            }
        }
        VV_UNROLL
        for (unsigned k = 0; k < together; k++) {
            x[block(first + k) * VV_FP4_BLOCK] = v[k];
        }
    }
    VV_UNROLL_BY(1)
    for (unsigned stride = 1; stride < blocks; stride *= 2) {
        VV_UNROLL_BY(2)
        for (unsigned p = 0; p < blocks / 2; p++) {
            unsigned i = p + (p & ~(stride - 1)); /* whose bit of the stride is 0 */
            float *low = x + i * VV_FP4_BLOCK, *high = low + stride * VV_FP4_BLOCK;
            float left = *low, right = *high;
            *low = left + right;
            *high = left - right;
        }
    }
    uint8_t *y = vv_fp4_row(&a, row, head) + (lane < half ? 1 + lane : 0);
    bool good = true;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < blocks; first += together) {
        VV_UNROLL
        for (unsigned k = 0; k < together; k++) {
            unsigned i = block(first + k);
            float value = x[i * VV_FP4_BLOCK] * unit;
            uint32_t peak = peak_of(magnitude(value)), field = vv_e2m1_field(peak);
            uint32_t code = vv_e2m1_code(value, field);
            code |= __shfl_xor_sync(0xffffffffu, code, half) << 4;
            good = good && !vv_round_refuses(peak);
            if (lane <= half) {
                y[i * VV_FP4_BYTES] = (uint8_t)(lane < half ? code : field);
            }
        }
    }
    if (!good) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

/* What Hadamard's sums are multiplied by. */
inline float hadamard_unit(size_t width) {
    return (float)(1 / sqrt((double)width));
}

} // namespace
