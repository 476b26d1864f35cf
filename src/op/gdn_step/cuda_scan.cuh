/*
 * The delta rule through many rows. A thread takes COLUMNS value columns of each of HEADS value
 * heads that share a key head, so that what it reads of q̂ and k̂ serves them all. SHARE threads of a
 * warp share those columns: thread g of them has the keys of the contract's lanes g, g + SHARE, …;
 * they are 32 / SHARE apart, so that neighbours read the same, at once.
 */
#pragma once
#include "op/gdn_step/cuda_input.cuh"
#include "op/gdn_step/cuda_rule.cuh"

namespace {

enum {
    SCAN_ROWS = 16,         /* that are copied to shared memory at a time … */
    SCAN_STAGES = 3,        /* … into one of these */
    SCAN_COLUMNS = 16,      /* of a block, times COLUMNS, of each head */
    SCAN_COLUMNS_MOST = 32, /* those at most */
};

/* TOGETHER rows' y go out together. */
template <int TOGETHER_, int HEADS_, int COLUMNS_, int SEGMENTS_, int SHARE_> struct scan_shape {
    static constexpr int TOGETHER = TOGETHER_, HEADS = HEADS_, COLUMNS = COLUMNS_;
    static constexpr int SEGMENTS = SEGMENTS_, SHARE = SHARE_, C = HEADS * COLUMNS;
    static constexpr int DIM = SEGMENTS * VV_SEGMENT, WIDTH = SCAN_COLUMNS * COLUMNS;
    static constexpr int THREADS = SCAN_COLUMNS * SHARE;
    static constexpr int LANES = VV_LANES / SHARE;      /* of a thread */
    static constexpr int KEYS = LANES * VV_LANE_VALUES; /* of a segment, of a thread */
    static constexpr int ELEMENTS = SEGMENTS * KEYS;
    static constexpr int APART = 16, NEAREST = 32 / SHARE; /* threads of sums; to the last */
};

/*
 * Scratch memory, in the order in which blocks of the scan read it. Value heads with one key head
 * are taken by `heads`: group n of them, n mod key_heads being the key head, has head (n div
 * key_heads · heads + i) · key_heads + n mod key_heads for each i. Columns are padded so that every
 * block has its own.
 */
struct prepared {
    float *qk;     /* [key_heads][rows][2][dim] staged, q̂ and k̂; dim: whole segments */
    float *v;      /* [groups][tiles][rows][heads][width] */
    float2 *gates; /* [groups][rows][heads] exp(g) and β */
    unsigned dim, share, heads, width, tiles;
};

/* Where key i of a row stands, when SHARE threads read four values of theirs at a time. */
__device__ unsigned scan_staged_at(unsigned i, unsigned share) {
    unsigned lane = i % VV_LANES;
    unsigned mine = lane / share * VV_LANE_VALUES + i % VV_SEGMENT / VV_LANES;
    return i / VV_SEGMENT * VV_SEGMENT + (mine / 4 * share + lane % share) * 4 + mine % 4;
}

/* A row as a block meets it. */
template <class S> struct alignas(16) scan_row {
    float q[S::DIM], k[S::DIM];
    float v[S::HEADS][S::WIDTH];
    float2 gates[S::HEADS];
    int32_t row;
};

/* What a block works on: group and tile; columns first, … of its heads. */
struct scan_part {
    stretch s;
    unsigned group, key_head, head, tile, first;
};

/* Begins to copy rows n … n + count - 1, SCAN_ROWS at most. */
template <class S>
__device__ void copy_rows(const task &t, const prepared &p, const scan_part &b, int32_t n,
                          unsigned count, scan_row<S> *to) {
    constexpr unsigned keys = 2 * S::DIM / 4, values = S::HEADS * S::WIDTH / 4, at_once = 16;
    unsigned thread = threadIdx.x;
    size_t rows = (size_t)t.rows, row = (size_t)n;
    const float *qk = p.qk + ((size_t)b.key_head * rows + row) * 2 * S::DIM;
    const float *v = p.v + ((size_t)(b.group * p.tiles + b.tile) * rows + row) * 4 * values;
    const float2 *gates = p.gates + ((size_t)b.group * rows + row) * S::HEADS;
    VV_UNROLL
    for (unsigned i = thread; i < SCAN_ROWS * keys; i += S::THREADS) {
        if (i < count * keys) {
            vv_copy_async<16>(&to[i / keys].q[i % keys * 4], qk + 4 * i);
        }
    }
    VV_UNROLL
    for (unsigned r = thread / at_once; r < SCAN_ROWS; r += S::THREADS / at_once) {
        VV_UNROLL
        for (unsigned i = thread % at_once; i < values; i += at_once) {
            if (r < count) {
                vv_copy_async<16>(&to[r].v[0][4 * i], v + (r * values + i) * 4);
            }
        }
    }
    unsigned r = thread / 8, h = thread % 8;
    if (r < count && h < S::HEADS) {
        vv_copy_async<8>(&to[r].gates[h], gates + r * S::HEADS + h);
    } else if (r < count && h == S::HEADS) {
        vv_copy_async<4>(&to[r].row, t.sequence_row + row + r);
    }
    static_assert(S::HEADS < 8 && S::THREADS >= 8 * SCAN_ROWS, "a thread for each");
}

/* The next stage's rows from n on; behind the last one stand gates that leave S as it is. */
template <class S>
__device__ void copy_stage(const task &t, const prepared &p, const scan_part &b, int32_t n,
                           scan_row<S> *to) {
    int32_t left = b.s.end - n;
    if (left >= SCAN_ROWS) {
        copy_rows<S>(t, p, b, n, SCAN_ROWS, to);
    } else if (left >= 0) {
        copy_rows<S>(t, p, b, n, (unsigned)left, to);
        if (threadIdx.x < S::HEADS) {
            to[left].gates[threadIdx.x] = make_float2(1.0f, 0.0f);
        }
    }
    vv_copy_commit();
}

/* Rows of two stages that follow each other, from one of the first on. */
template <class S> struct scan_rows {
    const scan_row<S> *now, *then; /* the row; row 0 of the other stage */
    int32_t first;                 /* number of the row in its stage */
    __device__ const scan_row<S> &row(int32_t i) const {
        return first + i < SCAN_ROWS ? now[i] : then[first + i - SCAN_ROWS];
    }
};

/* A thread's values of q̂ or k̂. */
template <class S>
__device__ void load_staged(float (&to)[S::ELEMENTS], const float *staged, unsigned g) {
    VV_UNROLL
    for (int i = 0; i < S::ELEMENTS / 4; i++) {
        constexpr int pieces = S::KEYS / 4;
        float4 four = reinterpret_cast<const float4 *>(
            staged + i / pieces * VV_SEGMENT)[(unsigned)(i % pieces) * S::SHARE + g];
        to[4 * i] = four.x;
        to[4 * i + 1] = four.y;
        to[4 * i + 2] = four.z;
        to[4 * i + 3] = four.w;
    }
}

/* The tree from a thread's own lanes on. */
template <class S> __device__ float own_lanes(const float (&lane)[S::LANES]) {
    return S::LANES == 2 ? lane[0] + lane[S::LANES - 1] : lane[0];
}
template <class S> __device__ float add_over_sharers(float sum) {
    VV_UNROLL
    for (int apart = S::APART; apart >= S::NEAREST; apart /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    }
    return sum;
}

/*
 * Elements begin … end - 1, of one segment, of a column, and those as far into the other lane: S =
 * S
 * + k̂ δᵀ and y += Sᵀ q̂; then of the next row S = S · decay, r += Sᵀ next. MOVE false: only that.
 */
template <bool MOVE, int ELEMENTS, int LANES>
VV_DEVICE void take_elements(float (&s)[ELEMENTS], const float (&k)[ELEMENTS], float delta,
                             const float (&q)[ELEMENTS], float decay, const float (&next)[ELEMENTS],
                             int begin, int end, float (&y)[LANES], float (&r)[LANES]) {
    VV_UNROLL
    for (int i = begin; i < end; i++) {
        VV_UNROLL
        for (int lane = 0; lane < LANES; lane++) {
            int e = lane * (int)VV_LANE_VALUES + i;
            if (MOVE) {
                s[e] = fmaf(k[e], delta, s[e]);
                y[lane] = fmaf(s[e], q[e], y[lane]);
            }
            s[e] *= decay;
            r[lane] = fmaf(s[e], next[e], r[lane]);
        }
    }
}

/*
 * What a thread has of S, by whose decay it has been multiplied; of the row that comes next, β, v,
 * k̂, q̂ and r = Sᵀ k̂; and of the row after it its gates and k̂. All that is read is asked for a row
 * before it is used.
 */
template <class S> struct scanned {
    float s[S::HEADS][S::COLUMNS][S::ELEMENTS];
    float q[S::ELEMENTS], k[S::ELEMENTS], next[S::ELEMENTS];
    float2 gates[S::HEADS];
    float beta[S::HEADS], v[S::C], r[S::C];

    __device__ void begin(const scan_rows<S> &rows, unsigned g) {
        load_staged<S>(next, rows.row(0).k, g);
        memcpy(gates, rows.row(0).gates, sizeof gates);
    }
    /* Row i, or only what precedes row 0; of y the thread's own lanes' sums go to `read`. */
    template <bool MOVE>
    __device__ void take(const scan_rows<S> &rows, int32_t i, unsigned column, unsigned g,
                         float (&read)[S::C][S::SEGMENTS]) {
        constexpr int LANE_KEYS = (int)VV_LANE_VALUES, N = S::COLUMNS;
        const scan_row<S> &then = rows.row(MOVE ? i + 1 : i), &after = rows.row(MOVE ? i + 2 : 1);
        float next_q[S::ELEMENTS], next_k[S::ELEMENTS], next_v[S::C];
        float2 next_gates[S::HEADS];
        VV_UNROLL
        for (int c = 0; c < S::C; c++) {
            float delta = beta[c / N] * (v[c] - r[c]), total = 0.0f;
            if (c == 0) {
                load_staged<S>(next_q, then.q, g);
                load_staged<S>(next_k, after.k, g);
                memcpy(next_gates, after.gates, sizeof next_gates);
            }
            next_v[c] = then.v[c / N][column + (unsigned)(c % N)];
            VV_UNROLL
            for (int segment = 0; segment < S::SEGMENTS; segment++) {
                float y[S::LANES] = {}, ahead[S::LANES] = {};
                int first = segment * S::KEYS;
                take_elements<MOVE>(s[c / N][c % N], k, delta, q, gates[c / N].x, next, first,
                                    first + LANE_KEYS, y, ahead);
                read[c][segment] = own_lanes<S>(y);
                total += add_over_sharers<S>(own_lanes<S>(ahead));
            }
            r[c] = total;
        }
        VV_UNROLL
        for (int h = 0; h < S::HEADS; h++) {
            beta[h] = gates[h].y;
        }
        memcpy(gates, next_gates, sizeof gates);
        memcpy(v, next_v, sizeof v);
        memcpy(q, next_q, sizeof q);
        memcpy(k, next, sizeof k);
        memcpy(next, next_k, sizeof next);
    }
};

/* Whether of the threads that get the same sums this one writes them. */
template <int N, int APART, int LAST> __device__ bool scattered_writes(unsigned me) {
    if constexpr (APART < LAST) {
        return true;
    } else if constexpr (N % 2 == 0) {
        return scattered_writes<N / 2, APART / 2, LAST>(me);
    } else {
        return (me & APART) == 0 && scattered_writes<N, APART / 2, LAST>(me);
    }
}

/* Where a thread writes y: column and head of its first sums, if it has any. */
struct scan_output {
    float *y;
    size_t row;    /* floats from row to row */
    unsigned head; /* from head to head of the group */
    bool writes;
};

/* TOGETHER rows, whose y goes out together. */
template <class S, int TOGETHER>
__device__ void scan_some(const task &t, const scan_part &b, const scan_output &out, scanned<S> &x,
                          const scan_rows<S> &rows, unsigned column, unsigned g) {
    constexpr int C = S::C, N = TOGETHER * C, APART = S::APART, NEAREST = S::NEAREST;
    constexpr int LEFT = vv_scattered<N, APART, NEAREST>;
    unsigned me = threadIdx.x % 32, first = vv_scattered_first<N, APART, NEAREST>(me);
    float read[TOGETHER][C][S::SEGMENTS], total[LEFT] = {};
    unsigned row[LEFT];
    VV_UNROLL
    for (unsigned i = 0; i < LEFT; i++) { /* where rows have all their columns, they are of one */
        row[i] = (unsigned)rows.now[LEFT == C ? first / C : (first + i) / C].row;
    }
    VV_UNROLL
    for (int i = 0; i < TOGETHER; i++) {
        x.template take<true>(rows, i, column, g, read[i]);
    }
    VV_UNROLL
    for (int segment = 0; segment < S::SEGMENTS; segment++) {
        float sum[N];
        VV_UNROLL
        for (int i = 0; i < N; i++) {
            sum[i] = read[i / C][i % C][segment];
        }
        vv_scatter_sums<N, APART, NEAREST>(sum, me);
        VV_UNROLL
        for (int i = 0; i < LEFT; i++) {
            total[i] += sum[i];
        }
    }
    if (!out.writes || !scattered_writes<N, APART, NEAREST>(me)) {
        return;
    }
    VV_UNROLL
    for (unsigned i = 0; i < LEFT; i++) {
        unsigned c = LEFT == C ? i : (first + i) % C, at = c % S::COLUMNS;
        if (at == 0 || b.first + column + at < t.a.value_dim) {
            out.y[row[i] * out.row + c / S::COLUMNS * out.head + at] = total[i];
        }
    }
}

/* The rows of a stage, `left` of them if there aren't more. */
template <class S>
__device__ void scan_stage(const task &t, const scan_part &b, const scan_output &out, scanned<S> &x,
                           const scan_row<S> *now, const scan_row<S> *then, int32_t left,
                           unsigned column, unsigned g) {
    int32_t rows = left < SCAN_ROWS ? left : SCAN_ROWS, r = 0;
    VV_UNROLL_BY(1)
    for (; r + S::TOGETHER <= rows; r += S::TOGETHER) {
        scan_some<S, S::TOGETHER>(t, b, out, x, {now + r, then, r}, column, g);
    }
    VV_UNROLL_BY(1)
    for (; r < rows; r++) {
        scan_some<S, 1>(t, b, out, x, {now + r, then, r}, column, g);
    }
}

/* Blocks: tiles of groups; in the grid's second dimension sequences. */
template <class S> __global__ void __launch_bounds__(S::THREADS, 1) scan(task t, prepared p) {
    vv_follow();
    auto *stages = vv_dynamic_shared<scan_row<S>>(); /* [SCAN_STAGES][SCAN_ROWS] */
    auto stage = [&](int i) { return stages + i % SCAN_STAGES * SCAN_ROWS; };
    unsigned heads = (unsigned)t.a.key_heads, group = blockIdx.x / p.tiles;
    unsigned tile = blockIdx.x % p.tiles, key_head = group % heads;
    scan_part b = {stretch_of(t, (int32_t)blockIdx.y),          group, key_head,
                   group / heads * S::HEADS * heads + key_head, tile,  tile * S::WIDTH};
    if (b.s.begin >= b.s.end) {
        return;
    }
    copy_stage<S>(t, p, b, b.s.begin, stage(0));
    copy_stage<S>(t, p, b, b.s.begin + SCAN_ROWS, stage(1));
    unsigned lane = threadIdx.x % 32, g = lane / (32 / S::SHARE);
    unsigned column = (threadIdx.x / 32 * (32 / S::SHARE) + lane % (32 / S::SHARE)) * S::COLUMNS;
    const scan_output out = {t.a.y + b.head * t.a.value_dim + b.first + column,
                             t.a.value_heads * t.a.value_dim, heads * (unsigned)t.a.value_dim,
                             t.a.mode != VV_GDN_COMMIT && b.first + column < t.a.value_dim};
    scanned<S> x = {};
    auto state = [&](int h) { return matrix_of(t, b.s.slot, b.head + (unsigned)h * heads); };
    VV_UNROLL
    for (int h = 0; h < S::HEADS; h++) {
        load_state<S::SHARE>(x.s[h], b.s.first == 0 ? nullptr : state(h), t.a.key_dim,
                             t.a.value_dim, b.first + column, t.together, g);
    }
    for (int32_t n = b.s.begin, i = 0; n < b.s.end; n += SCAN_ROWS, i++) {
        vv_copy_wait<0>();
        __syncthreads(); /* these rows and the next ones are here; those before are done with */
        copy_stage<S>(t, p, b, n + 2 * SCAN_ROWS, stage(i + 2));
        if (i == 0) {
            float none[S::C][S::SEGMENTS];
            scan_rows<S> rows = {stage(0), stage(1), 0};
            x.begin(rows, g);
            x.template take<false>(rows, 0, column, g, none);
        }
        scan_stage<S>(t, b, out, x, stage(i), stage(i + 1), b.s.end - n, column, g);
    }
    vv_copy_wait<0>();
    VV_UNROLL
    for (int h = 0; h < S::HEADS && t.a.mode != VV_GDN_VERIFY; h++) {
        store_state<S::SHARE>(x.s[h], state(h), t.a.key_dim, t.a.value_dim, b.first + column,
                              t.together, g);
    }
}

} // namespace
