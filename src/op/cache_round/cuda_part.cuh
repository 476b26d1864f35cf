/* A warp a block of values; a block of threads a vector, which it keeps in shared memory. */
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

__device__ void hadamard(float *x, unsigned width, float unit) {
    VV_UNROLL_BY(1)
    for (unsigned stride = 1; stride < width; stride *= 2) {
        VV_UNROLL_BY(1)
        for (unsigned p = threadIdx.x; p < width / 2; p += blockDim.x) {
            unsigned i = p / stride * 2 * stride + p % stride;
            float left = x[i], right = x[i + stride];
            x[i] = left + right;
            x[i + stride] = left - right;
        }
        __syncthreads();
    }
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < width; i += blockDim.x) {
        x[i] *= unit;
    }
    __syncthreads();
}

/* A vector by the block; x: shared memory for it. */
__device__ void round_fp4_vector(const struct vv_round_fp4 &a, size_t row, size_t head, float unit,
                                 float *x, vv_trouble trouble) {
    unsigned width = (unsigned)a.width, lane = threadIdx.x % 32;
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < width; i += blockDim.x) {
        x[i] = a.x[row * a.stride + head * width + i];
    }
    __syncthreads();
    hadamard(x, width, unit);
    uint8_t *y = vv_fp4_row(&a, row, head);
    VV_UNROLL_BY(1)
    for (unsigned b = threadIdx.x / 32; b < width / VV_FP4_BLOCK; b += blockDim.x / 32) {
        float value = x[b * VV_FP4_BLOCK + lane];
        uint32_t peak = peak_of(magnitude(value)), field = vv_e2m1_field(peak);
        if (vv_round_refuses(peak)) {
            vv_report(trouble, VV_ERROR_NOT_FINITE);
            return;
        }
        uint32_t code = vv_e2m1_code(value, field);
        code |= __shfl_xor_sync(0xffffffffu, code, 16) << 4;
        if (lane < 16) {
            y[b * VV_FP4_BYTES + 1 + lane] = (uint8_t)code;
        }
        if (lane == 0) {
            y[b * VV_FP4_BYTES] = (uint8_t)field;
        }
    }
}

/* What Hadamard's sums are multiplied by. */
inline float hadamard_unit(size_t width) {
    return (float)(1 / sqrt((double)width));
}

} // namespace
