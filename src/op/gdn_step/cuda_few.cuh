/*
 * Few rows: a block takes a value head of a sequence, or a part of its columns, through all its
 * rows. What the kernel in front doesn't write is read before that is done: S, which no other
 * kernel of a window writes and which goes back once, if at all; the convolution's inputs before
 * the window's rows; weights. Rows are prepared a few at a time, each thread two channels; then
 * every warp walks all of them through its own columns, without a barrier, and in the end norms and
 * gates one. Parts are blocks of a cluster, which give each other their columns of y and share the
 * rows of the end.
 */
#pragma once
#include "op/gdn_step/cuda_input.cuh"
#include "op/gdn_step/cuda_rule.cuh"
#include "op/quantize_rows/cuda_segment.cuh"

namespace {

enum {
    FEW_ROWS = 8,         /* at a time, at most */
    FEW_DIM = VV_SEGMENT, /* the most keys and the most columns */
    FEW_THREADS = 2 * FEW_DIM,
    FEW_GROUPS = FEW_THREADS / SHARERS,
};

struct few_shared {
    float q[FEW_ROWS][FEW_DIM], k[FEW_ROWS][FEW_DIM]; /* staged */
    float qk[FEW_ROWS][2 * FEW_DIM];                  /* convolved: q [FEW_DIM], k */
    float v[FEW_ROWS][FEW_DIM], y[FEW_ROWS][FEW_DIM], gate[FEW_ROWS][FEW_DIM];
    float norm[FEW_DIM];
    float2 gates[FEW_ROWS];
    const float *tap[FEW_ROWS + VV_GDN_KERNEL_MAX];
    int32_t row[FEW_ROWS];
};

/* A block's head, and its columns. */
struct few_part {
    stretch s;
    unsigned head, first, end;
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

/* A thread's channels: of q and k; of v, where the upper half of the threads has z's columns. The
 * last threads have rows' gates, too. */
template <int ROWS> struct few_channels {
    unsigned qk, qk_at, v, column;
    bool has_qk, has_v, has_z;
    four_taps<ROWS> in, more;
    float rate, bias; /* a and dt_bias of the head */
};

template <int ROWS>
__device__ void find_channels(const task &t, const few_part &b, few_channels<ROWS> *c) {
    unsigned dim = (unsigned)t.a.key_dim, key_heads = (unsigned)t.a.key_heads, i = threadIdx.x;
    unsigned keys = key_heads * dim, which = i >= dim, upper = i >= FEW_DIM;
    c->has_qk = i < 2 * dim;
    c->qk = which * keys + b.head % key_heads * dim + (i - which * dim);
    c->qk_at = which * FEW_DIM + (i - which * dim);
    c->column = upper ? i - FEW_DIM : b.first + i; /* of the head's z, of the part's v */
    c->v = 2 * keys + b.head * (unsigned)t.a.value_dim + c->column;
    c->has_v = !upper && c->column < b.end;
    c->has_z = upper && c->column < t.a.value_dim && t.a.mode != VV_GDN_COMMIT;
    c->rate = t.a.a[b.head];
    c->bias = t.a.dt_bias[b.head];
}

/* What of the convolutions comes before the rows. */
template <int ROWS>
__device__ void load_before(const task &t, const few_shared *m, few_channels<ROWS> *c) {
    if (t.fours) {
        load_taps(t, m->tap, 0, FOUR_BEFORE, c->qk, c->has_qk, &c->in);
        load_taps(t, m->tap, 0, FOUR_BEFORE, c->v, c->has_v, &c->more);
    }
}

/* All of n rows is read, then all is computed. */
template <int ROWS>
__device__ void convolve_rows(const task &t, const few_part &b, int32_t at, int32_t n,
                              few_channels<ROWS> *c, few_shared *m) {
    unsigned heads = (unsigned)t.a.value_heads, values = (unsigned)t.a.value_dim;
    int32_t timer = FEW_THREADS - 1 - (int32_t)threadIdx.x, end = n + FOUR_BEFORE;
    float2 raw = make_float2(0.0f, 0.0f);
    if (timer < n) {
        raw = raw_gates(t, b.s, at + timer, m->row[timer], b.head);
    }
    float z[ROWS];
    VV_UNROLL
    for (int32_t r = 0; r < ROWS; r++) {
        bool here = r < n && c->has_z;
        z[r] = here ? t.a.z[((size_t)m->row[r] * heads + b.head) * values + c->column] : 0.0f;
    }
    if (t.fours) {
        load_taps(t, m->tap, FOUR_BEFORE, end, c->qk, c->has_qk, &c->in);
        load_taps(t, m->tap, FOUR_BEFORE, end, c->v, c->has_v, &c->more);
    }
    auto store_qk = [&](int32_t r, float x) { m->qk[r][c->qk_at] = x; };
    auto store_v = [&](int32_t r, float x) { m->v[r][c->column] = x; };
    if (c->has_qk && t.fours) {
        convolve_four(c->in, n, store_qk);
    } else if (c->has_qk) {
        convolve<ROWS>(t, m->tap, n, c->qk, store_qk);
    }
    if (c->has_v && t.fours) {
        convolve_four(c->more, n, store_v);
    } else if (c->has_v) {
        convolve<ROWS>(t, m->tap, n, c->v, store_v);
    }
    VV_UNROLL
    for (int32_t r = 0; r < ROWS; r++) {
        if (r < n && c->has_z) {
            m->gate[r][c->column] = vv_sigmoid(z[r]);
        }
    }
    if (timer < n) {
        m->gates[timer] = gates_from(raw, c->rate, c->bias);
    }
}

/* A half warp a row's q̂ or k̂. */
__device__ void stage_rows(const task &t, int32_t n, few_shared *m) {
    unsigned half = threadIdx.x / VV_LANES, lane = threadIdx.x % VV_LANES;
    unsigned r = half / 2 % FEW_ROWS, which = half % 2;
    if (threadIdx.x / 32 >= (unsigned)n) {
        return; /* whole warps */
    }
    const float *x = m->qk[r] + which * FEW_DIM;
    float mine[VV_LANE_VALUES], squares = 0.0f;
    vv_load_lane(mine, x, 0, (unsigned)t.a.key_dim);
    squares += vv_square_lanes(mine);
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares + t.a.eps);
    float scale = which == 0 ? t.query_scale : 1.0f;
    float *to = which == 0 ? m->q[r] : m->k[r];
    VV_UNROLL
    for (unsigned i = 0; i < VV_LANE_VALUES; i++) { /* values beyond the key's are zeros */
        to[staged_at(i * VV_LANES + lane)] = (mine[i] * inverse) * scale;
    }
}

/* All rows through a thread's columns. */
template <int C, int PARTS, int ROWS>
__device__ void walk_rows(int32_t n, columns<C, 1> &x, size_t column, unsigned g, few_shared *m) {
    begin_rows(x, m->gates[0].x, m->k[0], g);
    for (int32_t r = 0; r < n; r++) {
        float delta[C], y;
        for (int c = 0; c < C; c++) {
            delta[c] = m->gates[r].y * (m->v[r][column + (size_t)c] - x.r[c]);
        }
        if (ROWS > 1 && r + 1 < n) {
            y = step_row<true>(x, delta, m->q[r], m->k[r + 1], m->gates[r + 1].x, g);
        } else {
            y = step_row<false>(x, delta, m->q[r], nullptr, 1.0f, g);
        }
        if (scattered_writer<C>(g)) {
            vv_store_parts<PARTS>(&m->y[r][column + scattered_column<C>(g)], y);
        }
    }
}

/* Planes of what it gives, where they are wanted with it: a head is a segment. */
struct few_planes {
    vv_planes planes;
    vv_trouble trouble;
};

/* A warp a row, four columns a thread. */
template <int PARTS>
__device__ void finish_rows(const task &t, const few_part &b, int32_t n, const few_planes &to,
                            const few_shared *m) {
    unsigned r = threadIdx.x / 32 * PARTS + blockIdx.x % PARTS, first = threadIdx.x % 32 * 4;
    unsigned values = (unsigned)t.a.value_dim;
    if (r >= (unsigned)n) {
        return; /* whole warps */
    }
    unsigned row = (unsigned)m->row[r];
    float mine[VV_LANE_VALUES], squares = 0.0f;
    vv_load_lane(mine, m->y[r], 0, values);
    squares += vv_square_lanes(mine);
    if (!isfinite(squares)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    float inverse = 1.0f / sqrtf(squares / (float)values + t.a.eps);
    float4 y = *reinterpret_cast<const float4 *>(&m->y[r][first]);
    float4 norm = *reinterpret_cast<const float4 *>(&m->norm[first]);
    float4 gate = *reinterpret_cast<const float4 *>(&m->gate[r][first]);
    float4 four =
        make_float4(((y.x * inverse) * norm.x) * gate.x, ((y.y * inverse) * norm.y) * gate.y,
                    ((y.z * inverse) * norm.z) * gate.z, ((y.w * inverse) * norm.w) * gate.w);
    const float out[4] = {four.x, four.y, four.z, four.w};
    float *at = t.a.y + ((size_t)row * t.a.value_heads + b.head) * values + first;
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        if (first + i < values) {
            at[i] = out[i];
        }
    }
    if (to.planes.x) {
        quantise_segment(to.planes, row, b.head, four, to.trouble);
    }
}

template <int C> constexpr int few_parts = FEW_DIM / (FEW_GROUPS * C);

template <int C, int ROWS> __device__ void take_few_rows(const task &t, const few_planes &to) {
    constexpr int PARTS = few_parts<C>, COLUMNS = FEW_GROUPS * C;
    few_shared *m = vv_dynamic_shared<few_shared>();
    unsigned unit = blockIdx.x / PARTS, heads = (unsigned)t.a.value_heads,
             g = threadIdx.x % SHARERS;
    unsigned values = (unsigned)t.a.value_dim;
    few_part b = {stretch_of(t, (int32_t)(unit / heads)), unit % heads,
                  blockIdx.x % PARTS * COLUMNS, values};
    size_t column = b.first + threadIdx.x / SHARERS * C;
    float *state = matrix_of(t, b.s.slot, b.head);
    int32_t rows = b.s.end - b.s.begin;
    columns<C, 1> x;
    few_channels<ROWS> c;
    b.end = b.first + COLUMNS < b.end ? b.first + COLUMNS : b.end;
    load_state(x.s, rows > 0 && b.s.first > 0 ? state : nullptr, t.a.key_dim, t.a.value_dim, column,
               t.together, g);
    find_channels(t, b, &c);
    if (threadIdx.x < t.a.value_dim && t.a.mode != VV_GDN_COMMIT) {
        m->norm[threadIdx.x] = t.a.norm[threadIdx.x];
    }
    for (int32_t at = 0; at < rows; at += ROWS) {
        int32_t left = rows - at, n = left < ROWS ? left : ROWS;
        vv_sync_parts<PARTS>();
        find_rows(t, b.s, at, n, m);
        __syncthreads();
        load_before(t, m, &c);
        if (at == 0) {
            vv_follow();
        }
        convolve_rows(t, b, at, n, &c, m);
        __syncthreads();
        stage_rows(t, n, m);
        __syncthreads();
        walk_rows<C, PARTS, ROWS>(n, x, column, g, m);
        if (at + n == rows && t.a.mode != VV_GDN_VERIFY) {
            store_state(x.s, state, t.a.key_dim, t.a.value_dim, column, t.together, g);
        }
        vv_sync_parts<PARTS>(); /* the other part's y is here, or, of a commit, still has a place */
        if (t.a.mode != VV_GDN_COMMIT) {
            finish_rows<PARTS>(t, b, n, to, m);
        }
    }
    if (rows <= 0) {
        vv_follow();
    }
}

/* A block a head. */
__global__ void __launch_bounds__(FEW_THREADS) few_rows(task t, few_planes to) {
    take_few_rows<4, FEW_ROWS>(t, to);
}

/* Two blocks a head. */
template <int ROWS>
__global__ void VV_PAIR_OF_BLOCKS __launch_bounds__(FEW_THREADS, 2)
    few_rows_in_pairs(task t, few_planes to) {
    take_few_rows<2, ROWS>(t, to);
}

} // namespace
