/*
 * Many rows, in three kernels: q̂, k̂, v and gates of all rows into scratch memory; the scan, whose
 * blocks take some value columns through all rows of a sequence, S in registers (cuda_scan.cuh);
 * norm and gate. Rows stand in the order of sequence_row in between.
 */
#pragma once
#include "op/gdn_step/cuda_scan.cuh"

namespace {

enum {
    PREPARED_ROWS = 8,     /* a block's, one a warp */
    PREPARED_VALUES = 128, /* value columns that a warp convolves */
    FINISHED_HALVES = 16,
};

__device__ int32_t sequence_of(const task &t, int32_t n) {
    int32_t low = 0, high = t.sequences; /* begins at or before n; after */
    while (high - low > 1) {
        int32_t middle = (low + high) / 2;
        if (t.sequence_begin[middle] <= n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A half warp: q̂ or k̂ of one row and key head. */
template <int SEGMENTS>
__device__ void prepare_key(const task &t, const prepared &p, const float *const *tap, int32_t n,
                            size_t key_head) {
    size_t which = threadIdx.x / VV_LANES % 2, lane = threadIdx.x % VV_LANES, dim = t.a.key_dim;
    size_t channel = (which * t.a.key_heads + key_head) * dim;
    float x[8 * SEGMENTS] = {};
    VV_UNROLL
    for (int i = 0; i < 8 * SEGMENTS; i++) {
        size_t at = (size_t)i * VV_LANES + lane;
        if (at < dim) {
            convolve<1>(t, tap, 1, channel + at, [&](int32_t, float y) { x[i] = y; });
        }
    }
    float squares = 0.0f;
    VV_UNROLL
    for (int s = 0; s < SEGMENTS; s++) {
        float sum = 0.0f;
        VV_UNROLL
        for (int i = 8 * s; i < 8 * s + 8; i++) {
            sum = fmaf(x[i], x[i], sum); /* values beyond the width are zeros */
        }
        squares += vv_add_lanes_across(sum);
    }
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares + t.a.eps);
    float scale = which == 0 ? t.query_scale : 1.0f;
    float *to = (which == 0 ? p.q : p.k) + ((size_t)n * t.a.key_heads + key_head) * p.dim;
    VV_UNROLL
    for (int i = 0; i < 8 * SEGMENTS; i++) {
        to[staged_at((size_t)i * VV_LANES + lane)] = (x[i] * inverse) * scale;
    }
}

/* A warp: some padded columns of one row's v. */
__device__ void prepare_values(const task &t, const prepared &p, const float *const *tap, int32_t n,
                               size_t first) {
    size_t all = t.a.value_heads * p.columns, lane = threadIdx.x % 32;
    for (size_t i = first + lane; i < first + PREPARED_VALUES && i < all; i += 32) {
        size_t head = i / p.columns, c = i % p.columns;
        float *to = p.v + (size_t)n * all + i;
        *to = 0.0f;
        if (c < t.a.value_dim) {
            size_t channel = 2 * t.a.key_heads * t.a.key_dim + head * t.a.value_dim + c;
            convolve<1>(t, tap, 1, channel, [&](int32_t, float y) { *to = y; });
        }
    }
}

/* A warp a row; of the grid's second dimension first the key heads, then pieces of v, then the
 * gates. */
template <int SEGMENTS>
__global__ void __launch_bounds__(32 * PREPARED_ROWS) prepare_rows(task t, prepared p) {
    vv_follow();
    const float **taps = vv_dynamic_shared<const float *>(); /* [PREPARED_ROWS][kernel] */
    int32_t n = (int32_t)(blockIdx.x * PREPARED_ROWS + threadIdx.x / 32);
    if (n >= t.rows) {
        return;
    }
    size_t part = blockIdx.y, pieces = gridDim.y - 1 - t.a.key_heads;
    int32_t sequence = sequence_of(t, n), before = (int32_t)t.a.kernel - 1;
    stretch s = stretch_of(t, sequence);
    const float **tap = taps + threadIdx.x / 32 * t.a.kernel;
    for (int32_t m = (int32_t)(threadIdx.x % 32); m <= before; m += 32) {
        tap[m] = input_of(t, s, n - s.begin + m - before);
    }
    __syncwarp();
    if (part < t.a.key_heads) {
        prepare_key<SEGMENTS>(t, p, tap, n, part);
    } else if (part < t.a.key_heads + pieces) {
        prepare_values(t, p, tap, n, (part - t.a.key_heads) * PREPARED_VALUES);
    } else {
        for (size_t head = threadIdx.x % 32; head < t.a.value_heads; head += 32) {
            p.gates[head * (size_t)t.rows + (size_t)n] =
                gates_from(raw_gates(t, s, n - s.begin, t.sequence_row[n], head), t.a.a[head],
                           t.a.dt_bias[head]);
        }
    }
}

/* A half warp a row and head. */
__global__ void __launch_bounds__(FINISHED_HALVES *VV_LANES) norm_and_gate(task t) {
    vv_follow();
    size_t values = t.a.value_dim, all = (size_t)t.rows * t.a.value_heads;
    size_t mine = (size_t)blockIdx.x * FINISHED_HALVES + threadIdx.x / VV_LANES;
    bool here = mine < all;
    float *y = t.a.y + (here ? mine : 0) * values;
    const float *z = t.a.z + (here ? mine : 0) * values;
    float squares = 0.0f;
    for (size_t at = 0; at < values; at += VV_SEGMENT) {
        size_t n = values - at < VV_SEGMENT ? values - at : VV_SEGMENT;
        auto value = [&](size_t i) { return y[at + i]; };
        squares += vv_dot_segment_across(value, value, here ? n : 0);
    }
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares / (float)values + t.a.eps);
    for (size_t i = threadIdx.x % VV_LANES; here && i < values; i += VV_LANES) {
        y[i] = ((y[i] * inverse) * t.a.norm[i]) * vv_sigmoid(z[i]);
    }
}

} // namespace
