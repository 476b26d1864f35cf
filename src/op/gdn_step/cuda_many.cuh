/*
 * Many rows, in three kernels: q̂, k̂, v and gates of all rows into scratch memory; the scan, whose
 * blocks take some value columns through all rows of a sequence, S in registers (cuda_scan.cuh);
 * norm and gate. Rows stand in the order of sequence_row in between.
 */
#pragma once
#include "op/gdn_step/cuda_scan.cuh"

namespace {

enum {
    PREPARED_TOGETHER = 4, /* rows of a warp */
    PREPARED_WARPS = 8,
    PREPARED_ROWS = PREPARED_WARPS * PREPARED_TOGETHER, /* of a block */
    PREPARED_VALUES = 128,                              /* value columns that a warp convolves */
    FINISHED_HALVES = 16,
};

/* Rows first … first + count - 1 in the order of sequence_row, of one sequence; tap[0] is the
 * oldest row of qkv that the first of them needs. */
struct prepared_rows {
    stretch s;
    int32_t first, count;
    const float *const *tap;
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

/* A half warp: q̂ or k̂ of a key head. */
template <int SEGMENTS>
__device__ void prepare_key(const task &t, const prepared &p, const prepared_rows &rows,
                            unsigned key_head) {
    constexpr int VALUES = SEGMENTS * (int)VV_LANE_VALUES;
    unsigned which = threadIdx.x / VV_LANES % 2, lane = threadIdx.x % VV_LANES;
    unsigned dim = (unsigned)t.a.key_dim, heads = (unsigned)t.a.key_heads;
    float x[PREPARED_TOGETHER][VALUES] = {};
    VV_UNROLL
    for (int i = 0; i < VALUES; i++) {
        unsigned at = (unsigned)i * VV_LANES + lane;
        if (at < dim) {
            convolve<PREPARED_TOGETHER>(t, rows.tap, rows.count,
                                        (which * heads + key_head) * dim + at,
                                        [&](int32_t r, float y) {
                                            VV_UNROLL
                                            for (int32_t n = 0; n < PREPARED_TOGETHER; n++) {
                                                x[n][i] = n == r ? y : x[n][i];
                                            }
                                        });
        }
    }
    float *to =
        p.qk + (((size_t)key_head * (size_t)t.rows + (size_t)rows.first) * 2 + which) * p.dim;
    VV_UNROLL
    for (int32_t r = 0; r < PREPARED_TOGETHER; r++) {
        float squares = 0.0f;
        VV_UNROLL
        for (int s = 0; s < SEGMENTS; s++) {
            float sum = 0.0f;
            VV_UNROLL
            for (int i = 8 * s; i < 8 * s + 8; i++) {
                sum = fmaf(x[r][i], x[r][i], sum); /* values beyond the width are zeros */
            }
            squares += vv_add_lanes_across(sum);
        }
        if (!isfinite(squares)) {
            vv_report(t.trouble, VV_ERROR_NOT_FINITE);
        }
        float inverse = 1.0f / sqrtf(squares + t.a.eps);
        float scale = which == 0 ? t.query_scale : 1.0f;
        VV_UNROLL
        for (int i = 0; i < VALUES && r < rows.count; i++) {
            to[(unsigned)r * 2 * p.dim + scan_staged_at((unsigned)i * VV_LANES + lane, p.share)] =
                (x[r][i] * inverse) * scale;
        }
    }
}

/* Which group a value head is in, and the how manieth of it. */
struct group_place {
    unsigned group, h;
};
__device__ group_place group_of(const task &t, const prepared &p, unsigned head) {
    unsigned heads = (unsigned)t.a.key_heads, n = head / heads;
    return {n / p.heads * heads + head % heads, n % p.heads};
}

/* A warp: v of PREPARED_VALUES columns of a head. */
__device__ void prepare_values(const task &t, const prepared &p, const prepared_rows &rows,
                               unsigned head, unsigned first) {
    unsigned values = (unsigned)t.a.value_dim, row = p.heads * p.width;
    unsigned channel = 2 * (unsigned)(t.a.key_heads * t.a.key_dim) + head * values;
    group_place g = group_of(t, p, head);
    VV_UNROLL
    for (unsigned i = 0; i < PREPARED_VALUES; i += 32) {
        unsigned c = first + i + threadIdx.x % 32, tile = c / p.width;
        size_t at = (size_t)(g.group * p.tiles + tile) * (size_t)t.rows + (size_t)rows.first;
        float *to = p.v + at * row + g.h * p.width + c % p.width;
        if (c < values) {
            convolve<PREPARED_TOGETHER>(t, rows.tap, rows.count, channel + c,
                                        [&](int32_t r, float y) { to[(unsigned)r * row] = y; });
        }
    }
}

/* A warp: exp(g) and β of all heads. */
__device__ void prepare_gates(const task &t, const prepared &p, const prepared_rows &rows) {
    unsigned heads = (unsigned)t.a.value_heads;
    for (unsigned i = threadIdx.x % 32; i < heads * (unsigned)rows.count; i += 32) {
        unsigned head = i % heads;
        int32_t n = rows.first + (int32_t)(i / heads);
        float2 raw = raw_gates(t, rows.s, n - rows.s.begin, t.sequence_row[n], head);
        group_place g = group_of(t, p, head);
        p.gates[((size_t)g.group * (size_t)t.rows + (size_t)n) * p.heads + g.h] =
            gates_from(raw, t.a.a[head], t.a.dt_bias[head]);
    }
}

/* A warp some rows; of the grid's second dimension first the key heads, then pieces of value heads'
 * v, then the gates. */
template <int SEGMENTS>
__global__ void __launch_bounds__(32 * PREPARED_WARPS) prepare_rows(task t, prepared p) {
    vv_follow();
    const int32_t before = (int32_t)t.a.kernel - 1, taps = before + PREPARED_TOGETHER;
    /* [PREPARED_WARPS][taps] */
    const float **tap = vv_dynamic_shared<const float *>() + threadIdx.x / 32 * (unsigned)taps;
    unsigned part = blockIdx.y, heads = (unsigned)t.a.key_heads, last = gridDim.y - 1;
    unsigned pieces = (last - heads) / (unsigned)t.a.value_heads;
    int32_t n = (int32_t)(blockIdx.x * PREPARED_ROWS + threadIdx.x / 32 * PREPARED_TOGETHER);
    int32_t end = n + PREPARED_TOGETHER < t.rows ? n + PREPARED_TOGETHER : t.rows;
    while (n < end) {
        stretch s = stretch_of(t, sequence_of(t, n));
        prepared_rows rows = {s, n, (s.end < end ? s.end : end) - n, tap};
        for (int32_t m = (int32_t)(threadIdx.x % 32); m < before + rows.count; m += 32) {
            tap[m] = input_of(t, s, n - s.begin + m - before);
        }
        __syncwarp();
        if (part < heads) {
            prepare_key<SEGMENTS>(t, p, rows, part);
        } else if (part < last) {
            prepare_values(t, p, rows, (part - heads) / pieces,
                           (part - heads) % pieces * PREPARED_VALUES);
        } else {
            prepare_gates(t, p, rows);
        }
        n += rows.count;
        __syncwarp();
    }
}

/* A half warp a row and head. */
__global__ void __launch_bounds__(FINISHED_HALVES *VV_LANES) norm_and_gate(task t) {
    vv_follow();
    unsigned values = (unsigned)t.a.value_dim;
    size_t all = (size_t)t.rows * t.a.value_heads;
    size_t mine = (size_t)blockIdx.x * FINISHED_HALVES + threadIdx.x / VV_LANES;
    bool here = mine < all;
    float *y = t.a.y + (here ? mine : 0) * values;
    const float *z = t.a.z + (here ? mine : 0) * values;
    float x[VV_LANE_VALUES], gate[VV_LANE_VALUES], norm[VV_LANE_VALUES], squares = 0.0f;
    VV_UNROLL_BY(1)
    for (unsigned at = 0; at < values; at += VV_SEGMENT) {
        vv_load_lane(x, y, at, values);
        vv_load_lane(gate, z, at, values);
        squares += vv_square_lanes(x);
    }
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares / (float)values + t.a.eps);
    VV_UNROLL_BY(1)
    for (unsigned at = 0; here && at < values; at += VV_SEGMENT) {
        if (values > VV_SEGMENT) {
            vv_load_lane(x, y, at, values);
            vv_load_lane(gate, z, at, values);
        }
        vv_load_lane(norm, t.a.norm, at, values);
        vv_store_lane(
            [&](unsigned i, unsigned m) {
                y[i] = ((x[m] * inverse) * norm[m]) * vv_sigmoid(gate[m]);
            },
            at, values);
    }
}

} // namespace
