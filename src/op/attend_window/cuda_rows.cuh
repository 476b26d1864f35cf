/*
 * Many rows: a block takes all chunks of a row for 32 heads, and keeps o in registers. A chunk's
 * keys lie in shared memory by columns, and are values as well.
 *
 * Scores: a thread has four keys and eight heads, and every fourth lane of a segment: lanes 8, then
 * 4 apart meet in it; exchanging with the threads 2, then 1 lane apart is the rest of the tree.
 * Values: a thread has eight columns of eight heads. Threads whose numbers differ in the last bit
 * read the same queries (or values), in the bit before it the same keys (or weights), and the
 * others of a half warp do so from all banks: then shared memory has four words for each of them
 * in half the time.
 *
 * While the values of 16 keys are taken, 16 keys of the next chunk are on their way to the
 * registers; then they take the place of the former.
 */
#pragma once
#include "op/attend_window/cuda_tile.cuh"

namespace {

enum {
    ROW_THREADS = 256,
    ROW_HEADS = 32, /* of a block */
    HEADS_EACH = 8, /* of a thread */
    ROW_WIDTH = TILE_WIDTH,
    COLUMNS_EACH = 8,
    COLUMNS_APART = ROW_WIDTH / COLUMNS_EACH,
    LANES_EACH = 4, /* of a segment */
    LOADED = 16,    /* rows that the block loads at a time */
    PIECES = LOADED * ROW_WIDTH / 4 / ROW_THREADS,
    /* Floats between columns, so that those that follow each other begin four banks apart. */
    KEY_PITCH = CHUNK + 4,
    QUERY_PITCH = ROW_HEADS + 4,
};

/* Shared. */
struct row_memory {
    float key[ROW_WIDTH][KEY_PITCH], query[ROW_WIDTH][QUERY_PITCH];
    float p[ROW_HEADS / HEADS_EACH][HEADS_EACH * CHUNK + 4]; /* [head][CHUNK] */
    entry at[2][CHUNK];                                      /* of a chunk, and of the next one */
    float a[ROW_HEADS], b[ROW_HEADS], l[ROW_HEADS];

    __device__ float *weights(unsigned head) {
        return p[head / HEADS_EACH] + head % HEADS_EACH * CHUNK;
    }
};

/* ---- loads ---- */

/* A thread's part of a row on its way to shared memory: of a segment each fourth sixteen bytes. */
struct piece {
    uint4 raw[PIECES];
    bool half;
};

/* Which of the rows that are loaded together the thread takes; the first value of its part. */
__device__ unsigned piece_row() {
    return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 32 / 4;
}
__device__ unsigned piece_value(unsigned i, unsigned size) {
    return threadIdx.x / 64 * VV_SEGMENT + (i * 4 + threadIdx.x % 4) * size;
}

/* Zeros from `width`, a multiple of eight, on. */
__device__ void fetch(entry e, unsigned width, piece &to) {
    to.half = e.type == VV_TYPE_F16;
    unsigned size = to.half ? 8 : 4;
    VV_UNROLL
    for (unsigned i = 0; i < PIECES; i++) {
        unsigned first = piece_value(i, size);
        to.raw[i] = uint4{};
        if (first < width && (i < PIECES / 2 || !to.half)) {
            to.raw[i] = *reinterpret_cast<const uint4 *>(e.at + 16 * (size_t)(first / size));
        }
    }
}

/* Puts them where row n is, or n ^ TURN · i in column i modulo 4; columns lie PITCH apart. */
template <int PITCH, unsigned TURN>
__device__ void place(const piece &from, unsigned n, float *columns) {
    const unsigned at[4] = {n, n ^ TURN, n ^ 2 * TURN, n ^ 3 * TURN};
    if (from.half) {
        VV_UNROLL
        for (unsigned i = 0; i < PIECES / 2; i++) {
            float *column = columns + piece_value(i, 8) * PITCH;
            const unsigned word[4] = {from.raw[i].x, from.raw[i].y, from.raw[i].z, from.raw[i].w};
            VV_UNROLL
            for (unsigned c = 0; c < 8; c += 2) {
                __half2 two;
                memcpy(&two, &word[c / 2], sizeof two);
                float2 wide = __half22float2(two);
                column[c * PITCH + at[c % 4]] = wide.x;
                column[(c + 1) * PITCH + at[c % 4 + 1]] = wide.y;
            }
        }
        return;
    }
    VV_UNROLL
    for (unsigned i = 0; i < PIECES; i++) {
        float *column = columns + piece_value(i, 4) * PITCH;
        column[at[0]] = __uint_as_float(from.raw[i].x);
        column[PITCH + at[1]] = __uint_as_float(from.raw[i].y);
        column[2 * PITCH + at[2]] = __uint_as_float(from.raw[i].z);
        column[3 * PITCH + at[3]] = __uint_as_float(from.raw[i].w);
    }
}

/* Keys from number `first` on. */
__device__ void place_keys(const piece &from, unsigned first, row_memory *m) {
    place<KEY_PITCH, 0>(from, first + piece_row(), m->key[0]);
}

/* Queries: in a column of lane i head h lies where h ^ 2 · (i mod 4) would, for exchange(). */
__device__ void place_queries(const piece &from, unsigned first, row_memory *m) {
    place<QUERY_PITCH, 2>(from, first + piece_row(), m->query[0]);
}

/* The chunk's slots that there are. */
struct filled {
    unsigned low, high;
};

__device__ filled filled_of(const stretch &s) {
    unsigned low = s.low % CHUNK;
    return {low, low + (s.high - s.low)};
}

/* Keys of the chunk from number `first` on; zeros for those that there are not. */
__device__ void fetch_keys(const entry *at, filled f, unsigned first, unsigned width, piece &to) {
    unsigned j = first + piece_row();
    bool here = j >= f.low && j < f.high;
    fetch(at[here ? j : f.low], here ? width : 0, to);
}

__device__ bool any_of(filled f, unsigned first) {
    return first < f.high && first + LOADED > f.low;
}

__device__ void fetch_queries(const task &t, size_t row, size_t head,
                              piece (&to)[ROW_HEADS / LOADED]) {
    unsigned width = (unsigned)t.a.width;
    VV_UNROLL
    for (unsigned i = 0; i < ROW_HEADS / LOADED; i++) {
        size_t h = head + i * LOADED + piece_row();
        bool here = h < t.a.heads;
        const float *q = t.a.q + (row * t.a.heads + (here ? h : 0)) * width;
        fetch({reinterpret_cast<const uint8_t *>(q), VV_TYPE_F32}, here ? width : 0, to[i]);
    }
}

/* A row's queries, which were asked for, and the keys of its first chunk. */
__device__ void begin_row(const piece (&query)[ROW_HEADS / LOADED], filled f, unsigned width,
                          row_memory *m) {
    piece key[CHUNK / LOADED];
    VV_UNROLL
    for (unsigned i = 0; i < CHUNK / LOADED; i++) {
        fetch_keys(m->at[0], f, i * LOADED, width, key[i]);
    }
    VV_UNROLL
    for (unsigned i = 0; i < ROW_HEADS / LOADED; i++) {
        place_queries(query[i], i * LOADED, m);
    }
    VV_UNROLL
    for (unsigned i = 0; i < CHUNK / LOADED; i++) {
        place_keys(key[i], i * LOADED, m);
    }
}

/* ---- scores ---- */

constexpr int PAIRS_EACH = HEADS_EACH * KEYS_EACH;

/* One lane of a segment: its values lie 16 apart. */
__device__ void lane_sums(const float *key, const float *query, float (&sum)[PAIRS_EACH]) {
    VV_UNROLL
    for (int n = 0; n < PAIRS_EACH; n++) {
        sum[n] = 0.0f;
    }
    VV_UNROLL
    for (unsigned i = 0; i < VV_SEGMENT; i += VV_LANES) {
        float4 four = *reinterpret_cast<const float4 *>(key + i * KEY_PITCH);
        float4 low = *reinterpret_cast<const float4 *>(query + i * QUERY_PITCH);
        float4 high = *reinterpret_cast<const float4 *>(query + i * QUERY_PITCH + 4);
        const float k[KEYS_EACH] = {four.x, four.y, four.z, four.w};
        const float q[HEADS_EACH] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        VV_UNROLL
        for (int n = 0; n < PAIRS_EACH; n++) {
            sum[n] = fmaf(k[n % KEYS_EACH], q[n / KEYS_EACH], sum[n]);
        }
    }
}

/* Two lanes that are 8 apart. */
__device__ void two_lanes(const float *key, const float *query, float (&sum)[PAIRS_EACH]) {
    float other[PAIRS_EACH];
    lane_sums(key, query, sum);
    lane_sums(key + 8 * KEY_PITCH, query + 8 * QUERY_PITCH, other);
    VV_UNROLL
    for (int n = 0; n < PAIRS_EACH; n++) {
        sum[n] += other[n];
    }
}

/* N sums become half as many, with those of the thread that is as many lanes of the warp apart:
 * what it has second are the sums that this one has first, as their queries lie in another order.
 */
template <int N> __device__ void exchange(float (&sum)[PAIRS_EACH], int apart) {
    VV_UNROLL
    for (int n = 0; n < N / 2; n++) {
        sum[n] += __shfl_xor_sync(0xffffffffu, sum[N / 2 + n], apart);
    }
}

/* Scores of the chunk's keys, -inf for those that there are not. */
__device__ void score_chunk(const task &t, filled f, row_memory *m) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned k = (warp / 4 * 8 + lane % 2 * 4 + warp % 4) * KEYS_EACH;
    unsigned h = (lane / 2 % 2 * 2 + lane / 16) * HEADS_EACH, first = lane / 4 % LANES_EACH;
    const float *key = &m->key[first][k], *query = &m->query[first][h];
    constexpr int LEFT = PAIRS_EACH / 4;
    float z[LEFT] = {};
    if (__any_sync(0xffffffffu, k + KEYS_EACH > f.low && k < f.high)) {
        VV_UNROLL_BY(1)
        for (unsigned n = (unsigned)vv_segments(t.a.width); n > 0; n--) {
            float sum[PAIRS_EACH], other[PAIRS_EACH];
            two_lanes(key, query, sum);
            two_lanes(key + 4 * KEY_PITCH, query + 4 * QUERY_PITCH, other);
            VV_UNROLL
            for (int i = 0; i < PAIRS_EACH; i++) {
                sum[i] += other[i];
            }
            exchange<PAIRS_EACH>(sum, 8);
            exchange<PAIRS_EACH / 2>(sum, 4);
            VV_UNROLL
            for (int i = 0; i < LEFT; i++) {
                z[i] += sum[i];
            }
            key += VV_SEGMENT * KEY_PITCH;
            query += VV_SEGMENT * QUERY_PITCH;
        }
    }
    h ^= 2 * first;
    VV_UNROLL
    for (unsigned i = 0; i < LEFT; i += KEYS_EACH) {
        float own[KEYS_EACH];
        VV_UNROLL
        for (unsigned j = 0; j < KEYS_EACH; j++) {
            own[j] = k + j >= f.low && k + j < f.high ? z[i + j] * t.a.scale : -INFINITY;
        }
        float *to = m->weights(h + i / KEYS_EACH) + k;
        *reinterpret_cast<float4 *>(to) = make_float4(own[0], own[1], own[2], own[3]);
    }
}

/* ---- values ---- */

/* The thread's first head, and the first of its columns. */
__device__ unsigned value_head() {
    return (threadIdx.x / 32 % 2 * 2 + threadIdx.x % 2) * HEADS_EACH;
}
__device__ unsigned value_column() {
    return threadIdx.x / 64 * 16 + threadIdx.x % 32 / 2;
}

struct row_outputs {
    float of[HEADS_EACH][COLUMNS_EACH];
};

/* Keys from … end - 1 onto o_c; the first is one of four. */
__device__ void add_values(row_memory *m, unsigned from, unsigned end, row_outputs &o_c) {
    const float *p = m->weights(value_head()), *column = m->key[value_column()];
    VV_UNROLL_BY(1)
    for (unsigned j = from; j < end; j += 4) {
        float4 by[HEADS_EACH];
        VV_UNROLL
        for (unsigned h = 0; h < HEADS_EACH; h++) {
            by[h] = *reinterpret_cast<const float4 *>(p + h * CHUNK + j);
        }
        VV_UNROLL
        for (unsigned c = 0; c < COLUMNS_EACH; c++) {
            float4 v =
                *reinterpret_cast<const float4 *>(column + c * COLUMNS_APART * KEY_PITCH + j);
            VV_UNROLL
            for (unsigned h = 0; h < HEADS_EACH; h++) {
                o_c.of[h][c] = add_values(by[h], v, o_c.of[h][c]);
            }
        }
    }
}

/* ---- the row ---- */

/* A half warp has the softmax of two heads, a quarter what they have come to. */
__device__ unsigned softmax_head(unsigned second) {
    return threadIdx.x / VV_LANES + second * (ROW_HEADS / 2);
}

/* The scores of the row's chunk onto what its thread has of its head. */
__device__ void take_scores(const task &t, size_t head, unsigned own, merged *s, row_memory *m) {
    unsigned low = softmax_head(0), high = softmax_head(1);
    float2 softmax = chunk_softmaxes<2>(t.trouble, {m->weights(low), m->weights(high)},
                                        {head + low < t.a.heads, head + high < t.a.heads});
    merge(s, softmax.x, softmax.y);
    if (threadIdx.x % (VV_LANES / 2) == 0) {
        m->a[own] = s->a;
        m->b[own] = s->b;
    }
}

/* Blocks: heads; rows, the last of which have the most keys, and come first. */
__global__ void __launch_bounds__(ROW_THREADS, 1) whole_row(task t) {
    vv_follow();
    auto m = vv_dynamic_shared<row_memory>();
    size_t row = gridDim.y - 1 - blockIdx.y, head = blockIdx.x * ROW_HEADS;
    unsigned width = (unsigned)t.a.width, me = threadIdx.x;
    piece query[ROW_HEADS / LOADED];
    fetch_queries(t, row, head, query);
    keys k = keys_of(t.a, row);
    if (!keys_valid(t, k)) {
        return;
    }
    stretch s = chunk_at(k, 0);
    if (me < s.high - s.low) {
        m->at[0][s.low % CHUNK + me] = entry_at(t, k, s, s.low + me);
    }
    __syncthreads();
    begin_row(query, filled_of(s), width, m);
    unsigned own = softmax_head(vv_scattered_first<2, VV_LANES / 2, 1>(me));
    merged state = {-INFINITY, 0.0f, 0.0f, 0.0f};
    row_outputs o = {};
    VV_UNROLL_BY(1)
    for (uint32_t i = 0, chunks = chunks_of(k); i < chunks; i++) {
        filled now = filled_of(s), then = {0, 0};
        entry next = {};
        if (i + 1 < chunks) {
            s = chunk_at(k, i + 1);
            then = filled_of(s);
            next = me < s.high - s.low ? entry_at(t, k, s, s.low + me) : next;
        }
        __syncthreads();
        score_chunk(t, now, m);
        entry *at = m->at[(i + 1) % 2];
        if (me < then.high - then.low) {
            at[then.low + me] = next;
        }
        __syncthreads();
        take_scores(t, head, own, &state, m);
        __syncthreads();
        row_outputs o_c = {};
        VV_UNROLL_BY(1)
        for (unsigned first = 0; first < CHUNK; first += LOADED) {
            piece some;
            bool any = any_of(then, first);
            if (any) {
                fetch_keys(at, then, first, width, some);
            }
            unsigned from = now.low / 4 * 4 > first ? now.low / 4 * 4 : first;
            unsigned end = now.high < first + LOADED ? now.high : first + LOADED;
            add_values(m, from, end, o_c);
            __syncthreads();
            if (any) {
                place_keys(some, first, m);
            }
        }
        VV_UNROLL
        for (unsigned h = 0; h < HEADS_EACH; h++) {
            float a = m->a[value_head() + h], b = m->b[value_head() + h];
            VV_UNROLL
            for (unsigned c = 0; c < COLUMNS_EACH; c++) {
                o.of[h][c] = fmaf(o_c.of[h][c], b, o.of[h][c] * a);
            }
        }
    }
    __syncthreads();
    if (me % (VV_LANES / 2) == 0 && head + own < t.a.heads) {
        merge(&state, t.a.sink[head + own], 1.0f);
        m->a[own] = state.a;
        m->b[own] = state.b;
        m->l[own] = state.l;
    }
    __syncthreads();
    float *y = t.a.y + (row * t.a.heads + head) * width;
    VV_UNROLL
    for (unsigned i = 0; i < HEADS_EACH; i++) {
        unsigned h = value_head() + i;
        float a = m->a[h], b = m->b[h], inverse = 1.0f / m->l[h];
        VV_UNROLL
        for (unsigned c = 0; c < COLUMNS_EACH; c++) {
            unsigned d = value_column() + c * COLUMNS_APART;
            if (d < width && head + h < t.a.heads) {
                y[h * width + d] = fmaf(0.0f, b, o.of[i][c] * a) * inverse;
            }
        }
    }
}

} // namespace
