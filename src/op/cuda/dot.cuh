/*
 * The contract's float dot product (docs/arithmetic.md, section 4) by sixteen threads: thread l of
 * a half warp is lane l, and exchanging with the threads 8, 4, 2, 1 apart is the tree over the
 * lanes, after which all sixteen hold the sum.
 */
#pragma once
#include "op/cuda/kernel.cuh"

static __device__ inline float vv_add_lanes_across(float lane) {
    for (int apart = VV_LANES / 2; apart > 0; apart /= 2) {
        lane += __shfl_xor_sync(0xffffffffu, lane, apart);
    }
    return lane;
}

/* One segment of n values, 128 or fewer; all threads of the warp come here, with segments of their
 * own half (n = 0: none). Values are i -> a(i), b(i). */
template <typename A, typename B>
static __device__ inline float vv_dot_segment_across(A a, B b, size_t n) {
    float lane = 0.0f;
    for (size_t i = threadIdx.x % VV_LANES; i < n; i += VV_LANES) {
        lane = fmaf(a(i), b(i), lane);
    }
    return vv_add_lanes_across(lane);
}

static __host__ __device__ inline size_t vv_segments(size_t width) {
    return (width + VV_SEGMENT - 1) / VV_SEGMENT;
}

/*
 * A whole block's dot product: `part` [segments] is shared memory. Every thread returns the sum.
 * The caller syncs before it uses `part` again.
 */
template <typename A, typename B>
static __device__ inline float vv_dot_block(A a, B b, size_t width, float *part) {
    size_t halves = blockDim.x / VV_LANES, half = threadIdx.x / VV_LANES;
    size_t segments = vv_segments(width);
    for (size_t first = 0; first < segments; first += halves) {
        size_t s = first + half, at = s * VV_SEGMENT;
        size_t n = s >= segments ? 0 : width - at < VV_SEGMENT ? width - at : VV_SEGMENT;
        float sum = vv_dot_segment_across([&](size_t i) { return a(at + i); },
                                          [&](size_t i) { return b(at + i); }, n);
        if (n > 0 && threadIdx.x % VV_LANES == 0) {
            part[s] = sum;
        }
    }
    __syncthreads();
    float sum = 0.0f;
    for (size_t s = 0; s < segments; s++) {
        sum += part[s];
    }
    return sum;
}
