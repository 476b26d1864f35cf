/* Any width: a block a row and head, chunk after chunk; o is kept in shared memory, each value by
 * one thread. */
#pragma once
#include "op/attend_window/cuda_keys.cuh"

namespace {

enum { PLAIN_THREADS = 256, PLAIN_HALVES = PLAIN_THREADS / VV_LANES };

struct chunk {
    float p[CHUNK]; /* scores, then their exponentials, by slot */
    entry at[CHUNK];
    float2 softmax;
};

/* Scores of the slots low … high - 1, a half warp each. */
__device__ void score(const task &t, const float *q, uint32_t low, uint32_t high, chunk *c) {
    for (uint32_t j = threadIdx.x / VV_LANES; j < CHUNK; j += PLAIN_HALVES) {
        bool here = j >= low % CHUNK && j < low % CHUNK + (high - low);
        entry e = c->at[here ? j : low % CHUNK];
        float sum = 0.0f;
        for (size_t at = 0; at < t.a.width; at += VV_SEGMENT) {
            size_t n = t.a.width - at < VV_SEGMENT ? t.a.width - at : VV_SEGMENT;
            sum += vv_dot_segment_across([&](size_t i) { return element(e.at, e.type, at + i); },
                                         [&](size_t i) { return q[at + i]; }, here ? n : 0);
        }
        if (threadIdx.x % VV_LANES == 0) {
            c->p[j] = here ? sum * t.a.scale : -INFINITY;
        }
    }
}

/* A chunk's keys onto o. */
__device__ void take(const task &t, const keys &k, const float *q, const stretch &keys, chunk *c,
                     merged *s, float *o) {
    uint32_t low = keys.low, high = keys.high;
    __syncthreads();
    for (uint32_t i = low + threadIdx.x; i < high; i += PLAIN_THREADS) {
        c->at[i % CHUNK] = entry_at(t, k, keys, i);
    }
    __syncthreads();
    score(t, q, low, high, c);
    __syncthreads();
    if (threadIdx.x < 32) {
        float2 found = chunk_softmax(t.trouble, c->p, threadIdx.x < VV_LANES);
        if (threadIdx.x == 0) {
            c->softmax = found;
        }
    }
    __syncthreads();
    merge(s, c->softmax.x, c->softmax.y);
    for (size_t d = threadIdx.x; d < t.a.width; d += PLAIN_THREADS) {
        float o_c = 0.0f;
        for (uint32_t i = low; i < high; i++) {
            entry e = c->at[i % CHUNK];
            o_c = fmaf(c->p[i % CHUNK], element(e.at, e.type, d), o_c);
        }
        o[d] = fmaf(o_c, s->b, o[d] * s->a);
    }
}

__global__ void __launch_bounds__(PLAIN_THREADS) plain(task t) {
    vv_follow();
    __shared__ chunk c;
    auto o = vv_dynamic_shared<float>(); /* [width] */
    size_t row = blockIdx.x, head = blockIdx.y, at = (row * t.a.heads + head) * t.a.width;
    const float *q = t.a.q + at;
    keys k = keys_of(t.a, row);
    if (!keys_valid(t, k)) {
        return;
    }
    for (size_t d = threadIdx.x; d < t.a.width; d += PLAIN_THREADS) {
        o[d] = 0.0f;
    }
    merged s = {-INFINITY, 0.0f, 0.0f, 0.0f};
    for (uint32_t i = 0; i < chunks_of(k); i++) {
        take(t, k, q, chunk_at(k, i), &c, &s, o);
    }
    merge(&s, t.a.sink[head], 1.0f);
    float inverse = 1.0f / s.l;
    for (size_t d = threadIdx.x; d < t.a.width; d += PLAIN_THREADS) {
        t.a.y[at + d] = fmaf(0.0f, s.b, o[d] * s.a) * inverse;
    }
}

} // namespace
