/*
 * A row by a block of threads, whose first warp makes the factors. A matrix of four streams stays
 * in lanes, which hand their sums' parts around; others go to and fro between two places in shared
 * memory.
 */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/sinkhorn/contract.h"
VV_C_END

namespace {

enum {
    MATRIX_MOST = VV_STREAMS_MAX * VV_STREAMS_MAX,
    FEW_STREAMS = 4, /* as released models have */
};

struct sinkhorn_memory {
    float matrix[2][MATRIX_MOST];
    float part[4]; /* [vv_parts] */
};
inline size_t sinkhorn_bytes(const struct vv_sinkhorn &a) {
    return sizeof(sinkhorn_memory) + vv_parts(a.streams * a.width) * sizeof(float);
}

/* Of the n numbers that lie `apart`. */
__device__ inline float sum_of(const float *at, unsigned n, unsigned apart) {
    float sum = 0.0f;
    VV_UNROLL_BY(1)
    for (unsigned i = 0; i < n; i++) {
        sum += at[i * apart];
    }
    return sum;
}

__device__ inline void softmax_rows(const float *c, float *to, unsigned n, float floor) {
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        const float *row = c + i / n * n;
        float most = -INFINITY, sum = 0.0f;
        VV_UNROLL_BY(1)
        for (unsigned t = 0; t < n; t++) {
            most = fmaxf(most, row[t]);
        }
        VV_UNROLL_BY(1)
        for (unsigned t = 0; t < n; t++) {
            sum += vv_exp(row[t] - most);
        }
        to[i] = vv_exp(c[i] - most) / sum + floor;
    }
    __syncwarp();
}

__device__ inline void divide(const float *c, float *to, unsigned n, bool by_rows, float floor) {
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        float sum = by_rows ? sum_of(c + i / n * n, n, 1) : sum_of(c + i % n, n, n);
        to[i] = c[i] / (sum + floor);
    }
    __syncwarp();
}

/* A matrix in `from`, balanced; returns which of the two has it. */
__device__ inline const float *balance_any(float *from, float *to, unsigned n, size_t rounds,
                                           float floor) {
    softmax_rows(from, to, n, floor);
    divide(to, from, n, false, floor);
    VV_UNROLL_BY(1)
    for (size_t round = 1; round < rounds; round++) {
        divide(from, to, n, true, floor);
        divide(to, from, n, false, floor);
    }
    return from;
}

/* An element c of a matrix of four by four a lane, again in the upper half of the warp: divided by
 * the sum of those that are `apart` from each other with it, and the floor. */
template <unsigned APART> __device__ float divide_four(float c, float floor) {
    unsigned first = threadIdx.x % 16 - threadIdx.x / APART % 4 * APART;
    float sum = 0.0f;
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        sum += __shfl_sync(0xffffffffu, c, (int)(first + i * APART));
    }
    return c / (sum + floor);
}

__device__ float balance_four(float c, size_t rounds, float floor) {
    float most = fmaxf(c, __shfl_xor_sync(0xffffffffu, c, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    c = divide_four<1>(vv_exp(c - most), 0.0f) + floor;
    c = divide_four<4>(c, floor);
    VV_UNROLL_BY(1)
    for (size_t round = 1; round < rounds; round++) {
        c = divide_four<1>(c, floor);
        c = divide_four<4>(c, floor);
    }
    return c;
}

/* Which factors a block makes. */
enum sinkhorn_factors { READING = 1, WRITING = 2 };

/* ANY: of any number of streams, not just four, and of rows. */
template <bool ANY>
__device__ void sinkhorn_row(const struct vv_sinkhorn &a, unsigned row, unsigned which,
                             sinkhorn_memory *m, vv_trouble trouble) {
    unsigned n = (unsigned)a.streams, all = (unsigned)(a.streams * a.width);
    const float *x = a.x + (size_t)row * all;
    VV_UNROLL_BY(1) /* of few rows: the sum takes several turns, and the read all once more */
    for (unsigned first = 32 * threadIdx.x; first < all && !ANY; first += 32 * blockDim.x) {
        vv_prefetch<true>(x + first);
    }
    float v[VV_LANE_VALUES];
    auto load = [&](unsigned at) { vv_load_lane(v, x, at, all); };
    const float *mix = a.mix + row * (a.post ? 2 * n + n * n : n);
    unsigned i = threadIdx.x % (n * n);
    float factor = a.post ? mix[2 * n + i] : 0.0f; /* asked for before the sum */
    float squares = vv_squares_block(v, load, all, m->part);
    if (threadIdx.x >= 32) {
        return;
    }
    if (!isfinite(squares)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inverse = 1.0f / sqrtf(squares / (float)all + a.eps);
    unsigned s = threadIdx.x; /* there are no more streams than lanes */
    if (s < n && (which & READING)) {
        a.pre[row * n + s] = vv_sigmoid(fmaf(mix[s] * inverse, a.scale[0], a.base[s])) + a.floor;
    }
    if (!a.post || !(which & WRITING)) {
        return;
    }
    if (s < n) {
        a.post[row * n + s] =
            2.0f * vv_sigmoid(fmaf(mix[n + s] * inverse, a.scale[1], a.base[n + s]));
    }
    if (!ANY || n == 4) {
        float c = fmaf(factor * inverse, a.scale[2], a.base[2 * n + i]);
        c = balance_four(c, a.rounds, a.floor);
        if (threadIdx.x < 16) {
            a.to[row * 16 + i] = c;
        }
        return;
    }
    if constexpr (ANY) {
        VV_UNROLL_BY(1)
        for (i = threadIdx.x; i < n * n; i += 32) {
            m->matrix[0][i] = fmaf(mix[2 * n + i] * inverse, a.scale[2], a.base[2 * n + i]);
        }
        __syncwarp();
        const float *balanced = balance_any(m->matrix[0], m->matrix[1], n, a.rounds, a.floor);
        VV_UNROLL_BY(1)
        for (i = threadIdx.x; i < n * n; i += 32) {
            a.to[row * n * n + i] = balanced[i];
        }
    }
}

/* Columns i .. i + N - 1 of a row. */
template <unsigned N>
__device__ void read_columns(const struct vv_stream_read &a, unsigned row, unsigned i) {
    unsigned n = (unsigned)a.streams, width = (unsigned)a.width;
    const float *pre = a.pre + row * n, *x = a.x + (size_t)row * n * width + i;
    vv_values<N> u = {};
    VV_UNROLL_BY(4)
    for (unsigned s = 0; s < n; s++) {
        vv_values<N> from = vv_load_values<N>(x + s * width);
        VV_UNROLL
        for (unsigned k = 0; k < N; k++) {
            u.v[k] = fmaf(pre[s], from.v[k], u.v[k]);
        }
    }
    vv_store_values(a.u + (size_t)row * width + i, u);
}

/* Of no more than MOST streams. */
template <unsigned MOST, unsigned N>
__device__ void write_columns(const struct vv_stream_write &a, unsigned row, unsigned i) {
    unsigned n = (unsigned)a.streams, width = (unsigned)a.width;
    float *x = a.x + (size_t)row * n * width + i;
    const float *to = a.to + row * n * n;
    vv_values<N> y = vv_load_values<N>(a.y + (size_t)row * width + i), before[MOST];
    VV_UNROLL
    for (unsigned s = 0; s < MOST; s++) {
        before[s] = s < n ? vv_load_values<N>(x + s * width) : vv_values<N>{};
    }
    VV_UNROLL_BY(1)
    for (unsigned t = 0; t < n; t++) {
        vv_values<N> sum = {};
        VV_UNROLL
        for (unsigned s = 0; s < MOST; s++) {
            float by = s < n ? to[s * n + t] : 0.0f;
            VV_UNROLL
            for (unsigned k = 0; k < N; k++) {
                sum.v[k] = s < n ? fmaf(by, before[s].v[k], sum.v[k]) : sum.v[k];
            }
        }
        VV_UNROLL
        for (unsigned k = 0; k < N; k++) {
            sum.v[k] = fmaf(a.post[row * n + t], y.v[k], sum.v[k]);
        }
        vv_store_values(x + t * width, sum);
    }
}

} // namespace
