/*
 * Many rows, in three kernels: q̂, k̂, v and gates of all rows into scratch memory; the scan, whose
 * blocks take some value columns through all rows of a sequence, S in registers; norm and gate.
 * Rows stand in the order of sequence_row in between.
 */
#pragma once
#include "op/gdn_step/cuda_input.cuh"
#include "op/gdn_step/cuda_rule.cuh"

namespace {

enum {
    PREPARED_ROWS = 8,     /* a block's, one a warp */
    PREPARED_VALUES = 128, /* value columns that a warp convolves */
    SCAN_WARPS = 4,
    SCAN_ROWS = 8,          /* that are copied to shared memory at a time … */
    SCAN_STAGES = 3,        /* … into one of these */
    SCAN_COLUMNS_MOST = 64, /* of a block */
    FINISHED_HALVES = 16,
};

/* Scratch memory. Columns of v are padded so that every block of the scan has its own. */
struct prepared {
    float *q, *k;  /* [rows][key_heads][dim] staged; dim: whole segments */
    float *v;      /* [rows][value_heads][columns] */
    float2 *gates; /* [value_heads][rows] */
    size_t dim, columns;
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

/* A few rows as the scan meets them. */
template <int C, int SEGMENTS> struct scan_stage {
    float q[SCAN_ROWS][SEGMENTS * VV_SEGMENT], k[SCAN_ROWS][SEGMENTS * VV_SEGMENT];
    float v[SCAN_ROWS][SCAN_WARPS * GROUPS * C];
    float2 gates[SCAN_ROWS];
    int32_t row[SCAN_ROWS];
};

/* Begins to copy rows n … of a sequence that ends at `end`. */
template <int C, int SEGMENTS>
__device__ void copy_rows(const task &t, const prepared &p, int32_t n, int32_t end, size_t head,
                          size_t tile, scan_stage<C, SEGMENTS> *to) {
    const int keys = SEGMENTS * VV_SEGMENT / 4, values = SCAN_WARPS * GROUPS * C / 4;
    int32_t rows = end - n < SCAN_ROWS ? end - n : SCAN_ROWS;
    size_t key_head = head % t.a.key_heads, thread = threadIdx.x;
    for (int i = (int)thread; i < rows * keys; i += 32 * SCAN_WARPS) {
        int r = i / keys, at = i % keys * 4;
        size_t from = ((size_t)(n + r) * t.a.key_heads + key_head) * p.dim + (size_t)at;
        vv_copy_async<16>(&to->q[r][at], p.q + from);
        vv_copy_async<16>(&to->k[r][at], p.k + from);
    }
    for (int i = (int)thread; i < rows * values; i += 32 * SCAN_WARPS) {
        int r = i / values, at = i % values * 4;
        size_t from = ((size_t)(n + r) * t.a.value_heads + head) * p.columns;
        vv_copy_async<16>(&to->v[r][at], p.v + from + tile * (size_t)values * 4 + (size_t)at);
    }
    if ((int32_t)thread < rows) {
        size_t at = (size_t)n + thread;
        vv_copy_async<8>(&to->gates[thread], p.gates + head * (size_t)t.rows + at);
        vv_copy_async<4>(&to->row[thread], t.sequence_row + at);
    }
    vv_copy_commit();
}

/* The rows of a stage; the row after them, if there is one, is the first of `then`. */
template <int C, int SEGMENTS>
__device__ void scan_rows(const task &t, columns<C, SEGMENTS> &x,
                          const scan_stage<C, SEGMENTS> &now, const scan_stage<C, SEGMENTS> &then,
                          int32_t left, size_t head, size_t tile) {
    unsigned g = threadIdx.x % SHARERS;
    size_t column = threadIdx.x / SHARERS * C, scattered = column + scattered_column<C>(g);
    size_t mine = tile * SCAN_WARPS * GROUPS * C + scattered;
    bool writes = t.a.mode != VV_GDN_COMMIT && scattered_writer<C>(g) && mine < t.a.value_dim;
    int32_t rows = left < SCAN_ROWS ? left : SCAN_ROWS;
    for (int32_t r = 0; r < rows; r++) {
        const scan_stage<C, SEGMENTS> &stage = r + 1 < SCAN_ROWS ? now : then;
        int32_t next = (r + 1) % SCAN_ROWS;
        float decay = r + 1 < left ? stage.gates[next].x : 1.0f, delta[C];
        for (int c = 0; c < C; c++) {
            delta[c] = now.gates[r].y * (now.v[r][column + (size_t)c] - x.r[c]);
        }
        /* After the last row what lies there does no harm: nobody asks for r. */
        float y = step_row<true>(x, delta, now.q[r], stage.k[next], decay, g);
        if (writes) {
            t.a.y[((size_t)now.row[r] * t.a.value_heads + head) * t.a.value_dim + mine] = y;
        }
    }
}

/* Blocks: columns of a head; heads; in the grid's second dimension sequences. */
template <int C, int SEGMENTS>
__global__ void __launch_bounds__(32 * SCAN_WARPS) scan(task t, prepared p) {
    vv_follow();
    const size_t block = SCAN_WARPS * GROUPS * C;
    auto *stage = vv_dynamic_shared<scan_stage<C, SEGMENTS>>();
    size_t tiles = (t.a.value_dim + block - 1) / block;
    size_t head = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    stretch s = stretch_of(t, (int32_t)blockIdx.y);
    if (s.begin >= s.end) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        copy_rows(t, p, s.begin + i * SCAN_ROWS, s.end, head, tile, stage + i);
    }
    unsigned g = threadIdx.x % SHARERS;
    size_t column = tile * block + threadIdx.x / SHARERS * C;
    float *state = matrix_of(t, s.slot, head);
    columns<C, SEGMENTS> x;
    load_state(x, s.first == 0 ? nullptr : state, t.a.key_dim, t.a.value_dim, column, t.together,
               g);
    for (int32_t n = s.begin, i = 0; n < s.end; n += SCAN_ROWS, i++) {
        vv_copy_wait<0>();
        __syncthreads(); /* these rows and the next ones are here; those before are done with */
        copy_rows(t, p, n + 2 * SCAN_ROWS, s.end, head, tile, stage + (i + 2) % SCAN_STAGES);
        if (i == 0) {
            begin_rows(x, stage[0].gates[0].x, stage[0].k[0], g);
        }
        scan_rows(t, x, stage[i % SCAN_STAGES], stage[(i + 1) % SCAN_STAGES], s.end - n, head,
                  tile);
    }
    vv_copy_wait<0>();
    if (t.a.mode != VV_GDN_VERIFY) {
        store_state(x, state, t.a.key_dim, t.a.value_dim, column, t.together, g);
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
