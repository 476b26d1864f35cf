/*
 * The delta rule through many rows. A thread takes COLUMNS value columns of each of HEADS value
 * heads that share a key head, so that what it reads of q̂ and k̂ serves them all. It takes them one
 * after another: while the sums over k of one are exchanged, the others are computed.
 */
#pragma once
#include "op/gdn_step/cuda_input.cuh"
#include "op/gdn_step/cuda_rule.cuh"

namespace {

enum {
    SCAN_WARPS = 4,
    SCAN_ROWS = 16,         /* that are copied to shared memory at a time … */
    SCAN_STAGES = 3,        /* … into one of these */
    SCAN_COLUMNS_MOST = 64, /* of a block */
};

/* Scratch memory. Columns of v are padded so that every block of the scan has its own. */
struct prepared {
    float *q, *k;  /* [rows][key_heads][dim] staged; dim: whole segments */
    float *v;      /* [rows][value_heads][columns] */
    float2 *gates; /* [value_heads][rows] exp(g) and β */
    size_t dim, columns;
};

/* Of each value head. */
template <int COLUMNS> constexpr int scan_columns = SCAN_WARPS *GROUPS *COLUMNS;

/* A row as a block meets it. */
template <int HEADS, int COLUMNS, int SEGMENTS> struct alignas(16) scan_row {
    float q[SEGMENTS * VV_SEGMENT], k[SEGMENTS * VV_SEGMENT];
    float v[HEADS][scan_columns<COLUMNS>];
    float2 gates[HEADS];
    int32_t row;
};

/* What a block works on: value heads head, head + key_heads, …; columns first, … of each. */
struct scan_part {
    stretch s;
    size_t key_head, head, first;
};

/* Begins to copy rows n … of the sequence, a warp a row. Behind the last one stand gates that leave
 * S as it is. */
template <int HEADS, int COLUMNS, int SEGMENTS>
__device__ void copy_rows(const task &t, const prepared &p, const scan_part &b, int32_t n,
                          scan_row<HEADS, COLUMNS, SEGMENTS> *to) {
    constexpr int PIECES_OF_V = scan_columns<COLUMNS> / 4;
    int lane = (int)threadIdx.x % 32;
    for (int32_t r = (int32_t)threadIdx.x / 32; r < SCAN_ROWS && n + r <= b.s.end;
         r += SCAN_WARPS) {
        size_t row = (size_t)(n + r);
        if (n + r == b.s.end) {
            if (lane < HEADS) {
                to[r].gates[lane] = make_float2(1.0f, 0.0f);
            }
            break;
        }
        size_t key = (row * t.a.key_heads + b.key_head) * p.dim;
        VV_UNROLL
        for (int at = 4 * lane; at < SEGMENTS * VV_SEGMENT; at += 4 * 32) {
            vv_copy_async<16>(&to[r].q[at], p.q + key + at);
            vv_copy_async<16>(&to[r].k[at], p.k + key + at);
        }
        for (int i = lane; i < HEADS * PIECES_OF_V; i += 32) {
            size_t head = b.head + (size_t)(i / PIECES_OF_V) * t.a.key_heads;
            int at = i % PIECES_OF_V * 4;
            const float *from = p.v + (row * t.a.value_heads + head) * p.columns + b.first;
            vv_copy_async<16>(&to[r].v[i / PIECES_OF_V][at], from + at);
        }
        if (lane < HEADS) {
            size_t head = b.head + (size_t)lane * t.a.key_heads;
            vv_copy_async<8>(&to[r].gates[lane], p.gates + head * (size_t)t.rows + row);
        } else if (lane == HEADS) {
            vv_copy_async<4>(&to[r].row, t.sequence_row + row);
        }
    }
    vv_copy_commit();
}

/* What a thread has of S, and of the row that comes next: k̂, β, and Sᵀ k̂ of all columns but the
 * last, whose lanes' sums are still to be added. S has been multiplied by that row's decay. */
template <int HEADS, int COLUMNS, int SEGMENTS> struct scanned {
    static constexpr int C = HEADS * COLUMNS, ELEMENTS = SEGMENTS * SEGMENT_KEYS;
    float s[HEADS][COLUMNS][ELEMENTS], k[ELEMENTS], beta[HEADS], r[C], last[SEGMENTS];
};

__device__ float add_over_sharers(float sum) {
    VV_UNROLL
    for (int apart = SHARERS / 2; apart > 0; apart /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    }
    return sum;
}

/* Sᵀ k̂ from the segments' sums. */
template <int SEGMENTS> __device__ float total_of(const float (&lanes)[SEGMENTS]) {
    float total = 0.0f;
    VV_UNROLL
    for (int segment = 0; segment < SEGMENTS; segment++) {
        total += add_over_sharers(lanes[segment]);
    }
    return total;
}

/* A thread's elements of what is staged. */
template <int SEGMENTS>
__device__ void load_staged(float (&to)[SEGMENTS * SEGMENT_KEYS], const float *staged, unsigned g) {
    VV_UNROLL
    for (int i = 0; i < SEGMENTS * PIECES; i++) {
        float4 four = piece(staged, i / PIECES, i % PIECES, g);
        to[4 * i] = four.x;
        to[4 * i + 1] = four.y;
        to[4 * i + 2] = four.z;
        to[4 * i + 3] = four.w;
    }
}

/* The next row's k̂, β and r of column c, whose S is what MOVE makes of it; the sums of the lanes of
 * the thread's own y, by the row's q, go to `read`. */
template <bool MOVE, int SEGMENTS>
__device__ void pass_column(float (&s)[SEGMENTS * SEGMENT_KEYS],
                            const float (&k)[SEGMENTS * SEGMENT_KEYS], float delta,
                            const float (&q)[SEGMENTS * SEGMENT_KEYS], float decay,
                            const float (&next)[SEGMENTS * SEGMENT_KEYS], float (&read)[SEGMENTS],
                            float (&ahead)[SEGMENTS]) {
    VV_UNROLL
    for (int segment = 0; segment < SEGMENTS; segment++) {
        float y[2] = {}, r[2] = {};
        VV_UNROLL
        for (int i = 0; i < ROUNDS; i++) {
            VV_UNROLL
            for (int half = 0; half < 2; half++) { /* lanes g and g + 8 */
                int e = segment * SEGMENT_KEYS + half * ROUNDS + i;
                if (MOVE) {
                    s[e] = fmaf(k[e], delta, s[e]);
                    y[half] = fmaf(s[e], q[e], y[half]);
                }
                s[e] *= decay;
                r[half] = fmaf(s[e], next[e], r[half]);
            }
        }
        read[segment] = y[0] + y[1];
        ahead[segment] = r[0] + r[1];
    }
}

/* One row, in one pass over S; MOVE false: only what comes before the first one. */
template <bool MOVE, int HEADS, int COLUMNS, int SEGMENTS>
__device__ void scan_one(scanned<HEADS, COLUMNS, SEGMENTS> &x,
                         const scan_row<HEADS, COLUMNS, SEGMENTS> &now,
                         const scan_row<HEADS, COLUMNS, SEGMENTS> &then, size_t column, unsigned g,
                         float (&read)[HEADS * COLUMNS][SEGMENTS]) {
    constexpr int C = HEADS * COLUMNS, ELEMENTS = SEGMENTS * SEGMENT_KEYS;
    float q[ELEMENTS], next[ELEMENTS], beta[HEADS];
    load_staged<SEGMENTS>(q, now.q, g);
    load_staged<SEGMENTS>(next, then.k, g);
    x.r[C - 1] = total_of(x.last);
    VV_UNROLL
    for (int c = 0; c < C; c++) {
        int head = c / COLUMNS;
        float2 gates = then.gates[head];
        float delta = x.beta[head] * (now.v[head][column + (size_t)(c % COLUMNS)] - x.r[c]);
        float ahead[SEGMENTS];
        pass_column<MOVE, SEGMENTS>(x.s[head][c % COLUMNS], x.k, delta, q, gates.x, next, read[c],
                                    ahead);
        if (c < C - 1) {
            x.r[c] = total_of(ahead);
        } else {
            memcpy(x.last, ahead, sizeof ahead);
        }
        beta[head] = gates.y;
    }
    memcpy(x.k, next, sizeof next);
    memcpy(x.beta, beta, sizeof beta);
}

/* Whether of the threads that get the same sums this one writes them. */
template <int N, int APART> __device__ bool scattered_writes(unsigned g) {
    if constexpr (APART == 0) {
        return true;
    } else if constexpr (N % 2 == 0) {
        return scattered_writes<N / 2, APART / 2>(g);
    } else {
        return (g & APART) == 0 && scattered_writes<N, APART / 2>(g);
    }
}

/* A few rows, whose y goes out together. `after` is the row behind them. */
template <int TOGETHER, int HEADS, int COLUMNS, int SEGMENTS>
__device__ void scan_some(const task &t, const scan_part &b, scanned<HEADS, COLUMNS, SEGMENTS> &x,
                          const scan_row<HEADS, COLUMNS, SEGMENTS> *now,
                          const scan_row<HEADS, COLUMNS, SEGMENTS> *after, size_t column,
                          unsigned g) {
    constexpr int C = HEADS * COLUMNS, N = TOGETHER * C, LEFT = vv_scattered<N, SHARERS / 2, 1>;
    float read[TOGETHER][C][SEGMENTS], total[LEFT] = {};
    VV_UNROLL
    for (int i = 0; i < TOGETHER; i++) {
        scan_one<true>(x, now[i], i + 1 < TOGETHER ? now[i + 1] : *after, column, g, read[i]);
    }
    VV_UNROLL
    for (int segment = 0; segment < SEGMENTS; segment++) {
        float sum[N];
        VV_UNROLL
        for (int i = 0; i < N; i++) {
            sum[i] = read[i / C][i % C][segment];
        }
        vv_scatter_sums<N, SHARERS / 2, 1>(sum, g);
        VV_UNROLL
        for (int i = 0; i < LEFT; i++) {
            total[i] += sum[i];
        }
    }
    if (t.a.mode == VV_GDN_COMMIT || !scattered_writes<N, SHARERS / 2>(g)) {
        return;
    }
    unsigned first = vv_scattered_first<N, SHARERS / 2, 1>(g);
    VV_UNROLL
    for (unsigned i = 0; i < LEFT; i++) {
        unsigned r = (first + i) / C, c = (first + i) % C;
        size_t d = b.first + column + c % COLUMNS, head = b.head + c / COLUMNS * t.a.key_heads;
        if (d < t.a.value_dim) {
            t.a.y[((size_t)now[r].row * t.a.value_heads + head) * t.a.value_dim + d] = total[i];
        }
    }
}

/* The rows of a stage; the row after them, if there is one, is the first of `then`. */
template <int TOGETHER, int HEADS, int COLUMNS, int SEGMENTS>
__device__ void scan_stage(const task &t, const scan_part &b, scanned<HEADS, COLUMNS, SEGMENTS> &x,
                           const scan_row<HEADS, COLUMNS, SEGMENTS> *now,
                           const scan_row<HEADS, COLUMNS, SEGMENTS> *then, int32_t left,
                           size_t column, unsigned g) {
    int32_t rows = left < SCAN_ROWS ? left : SCAN_ROWS, r = 0;
    auto after = [&](int32_t n) { return n < SCAN_ROWS ? now + n : then; };
    VV_UNROLL_BY(1)
    for (; r + TOGETHER <= rows; r += TOGETHER) {
        scan_some<TOGETHER>(t, b, x, now + r, after(r + TOGETHER), column, g);
    }
    VV_UNROLL_BY(1)
    for (; r < rows; r++) {
        scan_some<1>(t, b, x, now + r, after(r + 1), column, g);
    }
}

/* Blocks: columns of some heads of a key head; those heads; in the grid's second dimension
 * sequences. */
template <int TOGETHER, int HEADS, int COLUMNS, int SEGMENTS>
__global__ void __launch_bounds__(32 * SCAN_WARPS) scan(task t, prepared p) {
    vv_follow();
    typedef scan_row<HEADS, COLUMNS, SEGMENTS> row;
    auto *stages = vv_dynamic_shared<row>(); /* [SCAN_STAGES][SCAN_ROWS] */
    auto stage = [&](int i) { return stages + i % SCAN_STAGES * SCAN_ROWS; };
    size_t tiles = (t.a.value_dim + scan_columns<COLUMNS> - 1) / scan_columns<COLUMNS>;
    size_t part = blockIdx.x / tiles, key_head = part % t.a.key_heads;
    scan_part b = {stretch_of(t, (int32_t)blockIdx.y), key_head,
                   part / t.a.key_heads * HEADS * t.a.key_heads + key_head,
                   blockIdx.x % tiles * scan_columns<COLUMNS>};
    if (b.s.begin >= b.s.end) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        copy_rows(t, p, b, b.s.begin + i * SCAN_ROWS, stage(i));
    }
    unsigned g = threadIdx.x % SHARERS;
    size_t column = threadIdx.x / SHARERS * COLUMNS;
    scanned<HEADS, COLUMNS, SEGMENTS> x = {};
    auto state = [&](int h) { return matrix_of(t, b.s.slot, b.head + (size_t)h * t.a.key_heads); };
    VV_UNROLL
    for (int h = 0; h < HEADS; h++) {
        load_state(x.s[h], b.s.first == 0 ? nullptr : state(h), t.a.key_dim, t.a.value_dim,
                   b.first + column, t.together, g);
    }
    for (int32_t n = b.s.begin, i = 0; n < b.s.end; n += SCAN_ROWS, i++) {
        vv_copy_wait<0>();
        __syncthreads(); /* these rows and the next ones are here; those before are done with */
        copy_rows(t, p, b, n + 2 * SCAN_ROWS, stage(i + 2));
        if (i == 0) {
            float none[HEADS * COLUMNS][SEGMENTS];
            scan_one<false>(x, stages[0], stages[0], column, g, none);
        }
        scan_stage<TOGETHER>(t, b, x, stage(i), stage(i + 1), b.s.end - n, column, g);
    }
    vv_copy_wait<0>();
    VV_UNROLL
    for (int h = 0; h < HEADS && t.a.mode != VV_GDN_VERIFY; h++) {
        store_state(x.s[h], state(h), t.a.key_dim, t.a.value_dim, b.first + column, t.together, g);
    }
}

} // namespace
