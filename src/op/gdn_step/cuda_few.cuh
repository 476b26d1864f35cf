/*
 * Few rows: a block takes a value head of a sequence through all its rows. S is read into registers
 * before anything else is looked at, and goes back once, if at all. Rows are prepared a few at a
 * time, each thread one channel; then every warp walks all of them through its own columns, without
 * a barrier, and in the end the half warps norm and gate them.
 */
#pragma once
#include "op/gdn_step/cuda_input.cuh"
#include "op/gdn_step/cuda_rule.cuh"

namespace {

enum {
    FEW_ROWS = 8,
    FEW_DIM = VV_SEGMENT, /* the most keys and the most columns */
    FEW_COLUMNS = 2,      /* a thread's */
    FEW_THREADS = FEW_DIM / FEW_COLUMNS * SHARERS,
    FEW_HALVES = FEW_THREADS / VV_LANES,
};

struct few_shared {
    float q[FEW_ROWS][FEW_DIM], k[FEW_ROWS][FEW_DIM]; /* staged */
    float qk[FEW_ROWS][2][FEW_DIM];                   /* convolved */
    float v[FEW_ROWS][FEW_DIM], y[FEW_ROWS][FEW_DIM], gate[FEW_ROWS][FEW_DIM];
    float norm[FEW_DIM];
    float2 gates[FEW_ROWS];
    const float *tap[FEW_ROWS + VV_GDN_KERNEL_MAX];
    int32_t row[FEW_ROWS];
};

/* Rows at … at + n - 1 of the sequence: what the window has of them. */
__device__ void find_rows(const task &t, const stretch &s, int32_t at, int32_t n, few_shared *m) {
    int32_t before = (int32_t)t.a.kernel - 1;
    for (int32_t i = (int32_t)threadIdx.x; i < n + before; i += FEW_THREADS) {
        m->tap[i] = input_of(t, s, at + i - before);
    }
    if ((int32_t)threadIdx.x < n) {
        m->row[threadIdx.x] = t.sequence_row[s.begin + at + (int32_t)threadIdx.x];
    }
}

/* Threads are the channels of q, k and v, and z's columns. */
__device__ void convolve_rows(const task &t, const stretch &s, int32_t at, int32_t n, size_t head,
                              few_shared *m) {
    size_t dim = t.a.key_dim, values = t.a.value_dim, i = threadIdx.x;
    size_t keys = t.a.key_heads * dim, key_head = head % t.a.key_heads;
    int32_t timer = FEW_THREADS - 1 - (int32_t)threadIdx.x; /* these threads have the gates, too */
    if (timer < n) {
        m->gates[timer] = gates_of(t, s, at + timer, head);
    }
    if (i < 2 * dim) {
        size_t which = i / dim, c = i % dim;
        convolve<FEW_ROWS>(t, m->tap, n, which * keys + key_head * dim + c,
                           [&](int32_t r, float x) { m->qk[r][which][c] = x; });
    } else if (i < 2 * dim + values) {
        size_t c = i - 2 * dim;
        convolve<FEW_ROWS>(t, m->tap, n, 2 * keys + head * values + c,
                           [&](int32_t r, float x) { m->v[r][c] = x; });
    } else if (i < 2 * dim + 2 * values && t.a.mode != VV_GDN_COMMIT) {
        size_t c = i - 2 * dim - values;
        float z[FEW_ROWS];
        VV_UNROLL
        for (int32_t r = 0; r < FEW_ROWS; r++) {
            size_t at = ((size_t)m->row[r] * t.a.value_heads + head) * values + c;
            z[r] = r < n ? t.a.z[at] : 0.0f;
        }
        m->norm[c] = t.a.norm[c];
        VV_UNROLL
        for (int32_t r = 0; r < FEW_ROWS; r++) {
            m->gate[r][c] = vv_sigmoid(z[r]);
        }
    }
}

/* A half warp a row's q̂ or k̂. */
__device__ void stage_rows(const task &t, int32_t n, few_shared *m) {
    size_t half = threadIdx.x / VV_LANES, lane = threadIdx.x % VV_LANES;
    size_t r = half / 2 % FEW_ROWS, which = half % 2;
    if (threadIdx.x / 32 >= (unsigned)n) {
        return; /* whole warps */
    }
    const float *x = m->qk[r][which];
    float inverse = inverse_length(t, [&](size_t i) { return x[i]; });
    float scale = which == 0 ? (float)(1 / sqrt((double)t.a.key_dim)) : 1.0f;
    float *to = which == 0 ? m->q[r] : m->k[r];
    for (size_t i = lane; i < FEW_DIM; i += VV_LANES) {
        to[staged_at(i)] = i < t.a.key_dim ? (x[i] * inverse) * scale : 0.0f;
    }
}

/* All rows through a thread's columns. */
__device__ void walk_rows(int32_t n, columns<FEW_COLUMNS, 1> &x, size_t column, unsigned g,
                          few_shared *m) {
    begin_rows(x, m->gates[0].x, m->k[0], g);
    for (int32_t r = 0; r < n; r++) {
        float delta[FEW_COLUMNS], y;
        for (int c = 0; c < FEW_COLUMNS; c++) {
            delta[c] = m->gates[r].y * (m->v[r][column + (size_t)c] - x.r[c]);
        }
        if (r + 1 < n) {
            y = step_row<true>(x, delta, m->q[r], m->k[r + 1], m->gates[r + 1].x, g);
        } else {
            y = step_row<false>(x, delta, m->q[r], nullptr, 1.0f, g);
        }
        if (scattered_writer<FEW_COLUMNS>(g)) {
            m->y[r][column + scattered_column<FEW_COLUMNS>(g)] = y;
        }
    }
}

/* Several half warps a row: each takes all of its squares and some of its columns. */
__device__ void finish_rows(const task &t, int32_t n, size_t head, const few_shared *m) {
    size_t half = threadIdx.x / VV_LANES, r = half % (size_t)n, part = half / (size_t)n;
    size_t parts = FEW_HALVES / (size_t)n, values = t.a.value_dim;
    const float *y = m->y[r];
    auto value = [&](size_t i) { return y[i]; };
    float squares = 0.0f;
    squares += vv_dot_segment_across(value, value, values);
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares / (float)values + t.a.eps);
    float *out = t.a.y + ((size_t)m->row[r] * t.a.value_heads + head) * values;
    for (size_t c = part * VV_LANES + threadIdx.x % VV_LANES; part < parts && c < values;
         c += parts * VV_LANES) {
        out[c] = ((y[c] * inverse) * m->norm[c]) * m->gate[r][c];
    }
}

__global__ void __launch_bounds__(FEW_THREADS) few_rows(task t) {
    vv_follow();
    few_shared *m = vv_dynamic_shared<few_shared>();
    size_t head = blockIdx.x % t.a.value_heads;
    stretch s = stretch_of(t, (int32_t)(blockIdx.x / t.a.value_heads));
    if (s.begin >= s.end) {
        return;
    }
    unsigned g = threadIdx.x % SHARERS;
    size_t column = threadIdx.x / SHARERS * FEW_COLUMNS;
    float *state = matrix_of(t, s.slot, head);
    columns<FEW_COLUMNS, 1> x;
    load_state(x, s.first == 0 ? nullptr : state, t.a.key_dim, t.a.value_dim, column, t.even, g);
    for (int32_t at = 0; at < s.end - s.begin; at += FEW_ROWS) {
        int32_t left = s.end - s.begin - at, n = left < FEW_ROWS ? left : FEW_ROWS;
        __syncthreads();
        find_rows(t, s, at, n, m);
        __syncthreads();
        convolve_rows(t, s, at, n, head, m);
        __syncthreads();
        stage_rows(t, n, m);
        __syncthreads();
        walk_rows(n, x, column, g, m);
        if (t.a.mode != VV_GDN_COMMIT) {
            __syncthreads();
            finish_rows(t, n, head, m);
        }
    }
    if (t.a.mode != VV_GDN_VERIFY) {
        store_state(x, state, t.a.key_dim, t.a.value_dim, column, t.even, g);
    }
}

} // namespace
