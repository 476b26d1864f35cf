/* Any width and type: a half warp a row and block. */
#pragma once
#include "op/index_score/cuda_vectors.cuh"

namespace {

enum { PLAIN_THREADS = 128, PLAIN_HALVES = PLAIN_THREADS / VV_LANES };

/* By a half warp. */
template <arithmetic A>
__device__ float plain_dot(const task &t, const uint8_t *q, const uint8_t *key, bool here) {
    float sum = 0.0f;
    for (size_t at = 0; at < t.a.width; at += VV_SEGMENT) {
        size_t n = t.a.width - at < VV_SEGMENT ? t.a.width - at : VV_SEGMENT;
        sum += vv_dot_segment_across(
            [&](size_t i) { return value_at<A>(key, t.a.pooled.type, at + i); },
            [&](size_t i) { return value_at<A>(q, t.a.q_type, at + i); }, here ? n : 0);
    }
    return sum;
}

/* The same in each of its threads. */
template <>
__device__ float plain_dot<INTEGERS>(const task &t, const uint8_t *q, const uint8_t *key, bool) {
    float z = 0.0f;
    for (size_t at = 0; at < t.a.width; at += CODES) {
        const size_t block = at / CODES * CODES_BYTES;
        int dot = 0;
        for (size_t i = at; i < at + CODES; i++) {
            dot += code_at(q, i) * code_at(key, i);
        }
        z = fmaf(step_of(q + block) * step_of(key + block), (float)dot, z);
    }
    return z;
}

/* Blocks: of keys; rows. */
template <arithmetic A> __global__ void __launch_bounds__(PLAIN_THREADS) plain(task t) {
    vv_follow();
    size_t row = blockIdx.y, block = blockIdx.x * PLAIN_HALVES + threadIdx.x / VV_LANES;
    uint32_t blocks = blocks_of(t, row);
    if (blockIdx.x * PLAIN_HALVES >= blocks) {
        return;
    }
    bool here = block < blocks;
    const uint8_t *key = key_at(t, t.slot[row], here ? block : 0);
    float sum = 0.0f;
    for (size_t h = 0; h < t.a.heads; h++) {
        sum = add_head(t, row, h, plain_dot<A>(t, query_at(t, row, h), key, here), sum);
    }
    if (here && threadIdx.x % VV_LANES == 0) {
        store_score(t, row, block, sum);
    }
}

} // namespace
