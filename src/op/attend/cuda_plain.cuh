/* Any width: a block a row and head, chunk after chunk; o is summed up where y will be. */
#pragma once
#include "op/attend/cuda_keys.cuh"

namespace {

enum { PLAIN_THREADS = 128, PLAIN_HALVES = PLAIN_THREADS / VV_LANES };

/* Scores of a chunk's keys, a half warp each. */
__device__ void plain_scores(const task &t, const float *q, size_t offset, const keys &k,
                             const uint32_t *entry, uint32_t count, float *z) {
    for (uint32_t first = 0; first < CHUNK; first += PLAIN_HALVES) {
        uint32_t j = first + threadIdx.x / VV_LANES;
        const uint8_t *key = entry_at(t.a.k, k, j < count ? entry[j] : 0);
        float sum = 0.0f;
        for (size_t at = 0; at < t.a.width; at += VV_SEGMENT) {
            size_t n = t.a.width - at < VV_SEGMENT ? t.a.width - at : VV_SEGMENT;
            sum += vv_dot_segment_across(
                [&](size_t i) { return element(key, t.a.k.type, offset + at + i); },
                [&](size_t i) { return q[at + i]; }, j < count ? n : 0);
        }
        if (threadIdx.x % VV_LANES == 0) {
            z[j] = j < count ? sum * t.a.scale : -INFINITY;
        }
    }
}

__global__ void __launch_bounds__(PLAIN_THREADS) plain(task t) {
    vv_follow();
    __shared__ float p[CHUNK];
    __shared__ uint32_t entry[CHUNK];
    __shared__ float2 softmax;
    size_t row = blockIdx.x / t.a.heads, head = blockIdx.x % t.a.heads, width = t.a.width;
    size_t offset = head / (t.a.heads / t.a.kv_heads) * width;
    const float *q = t.a.q + blockIdx.x * width;
    float *y = t.a.y + blockIdx.x * width;
    keys k = keys_of(t, row);
    if (!keys_valid(t, k)) {
        return;
    }
    for (size_t d = threadIdx.x; d < width; d += PLAIN_THREADS) {
        y[d] = 0.0f;
    }
    merged s = {-INFINITY, 0.0f, 0.0f, 0.0f};
    for (uint32_t first = 0; first < k.count; first += CHUNK) {
        uint32_t count = k.count - first < CHUNK ? k.count - first : CHUNK;
        __syncthreads();
        if (threadIdx.x < count) {
            entry[threadIdx.x] = entry_of(t, k, row, first + threadIdx.x);
        }
        __syncthreads();
        plain_scores(t, q, offset, k, entry, count, p);
        __syncthreads();
        if (threadIdx.x < 32) {
            float2 found = chunk_softmax(t.trouble, p, threadIdx.x < VV_LANES);
            if (threadIdx.x == 0) {
                softmax = found;
            }
        }
        __syncthreads();
        merge(&s, softmax.x, softmax.y);
        for (size_t d = threadIdx.x; d < width; d += PLAIN_THREADS) {
            float o = 0.0f;
            for (uint32_t j = 0; j < count; j++) {
                const uint8_t *value = entry_at(t.a.v, k, entry[j]);
                o = fmaf(p[j], element(value, t.a.v.type, offset + d), o);
            }
            y[d] = fmaf(o, s.b, y[d] * s.a);
        }
    }
    float inverse = 1.0f / s.l;
    for (size_t d = threadIdx.x; d < width; d += PLAIN_THREADS) {
        y[d] = gated(t, row, head, d, y[d], inverse);
    }
}

} // namespace
