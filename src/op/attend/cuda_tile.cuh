/*
 * A chunk of keys and a few query heads that share it, by a block of four warps. Keys and values
 * are copied to shared memory behind the threads' back; both are read by the heads there.
 *
 * Scores: queries stay in registers. Eight threads share some keys; thread g of them has the
 * contract's lanes 2g and 2g + 1, neighbours in memory, of four keys at a time for HEADS heads.
 * Exchanging with the threads 4, 2 and 1 apart adds the lanes 8, 4 and 2 apart, halves of the keys
 * for halves of the sums; lanes 0 and 1 meet in the thread. Two warps have the first heads, two the
 * others; of each two one has the first half of the keys.
 *
 * Values: a thread has four columns of HEADS heads. Of two warps of the same heads one has the
 * first half of the columns.
 */
#pragma once
#include "op/attend/cuda_keys.cuh"

namespace {

enum {
    TILE_WARPS = 4,
    TILE_THREADS = 32 * TILE_WARPS,
    TILE_HALVES = TILE_THREADS / VV_LANES,
    TILE_WIDTH = 256, /* the most; a multiple of 16 */
    SHARERS = 8,      /* threads that share keys */
    AT_ONCE = 4,      /* keys a thread takes at a time */
    ROUNDS = VV_SEGMENT / VV_LANES,
};

/* How much shared memory the parts of a tile take, from its beginning on. */
struct tile_shape {
    uint32_t key_row, value_row; /* bytes */
    uint32_t value;              /* where values begin: behind the keys, or in their place */
    uint32_t query;              /* where queries begin, if they are here */
    uint32_t bytes;
};

template <int HEADS> struct alignas(16) tile_small {
    float p[2 * HEADS][CHUNK];
    uint32_t entry[2][CHUNK]; /* of the chunk's keys, and of the next one's */
    float a[2 * HEADS], b[2 * HEADS], l[2 * HEADS];
};

/* Heads whose softmax a half warp takes. */
template <int HEADS>
constexpr unsigned softmax_rounds = (2 * HEADS + TILE_HALVES - 1) / TILE_HALVES;

/* What a block works on. */
struct tile {
    size_t row, kv_head, head; /* the first of its heads */
    size_t heads;              /* 2 · HEADS at most */
    keys k;
    uint8_t *key, *value; /* shared: [CHUNK] rows */
};

/* How a block copies keys and values, scores keys, and takes values. */
template <int HEADS> struct by_own_queries {
    /* Of head h elements seg · 128 + 16 j + 2 g, and the next: the thread's lanes. */
    float2 q[HEADS][2 * ROUNDS];
    __device__ void place(tile *) const {
    }
    __device__ void begin(const task &t, const tile &b);
    /* LAST: those that share their place, which it is the values' turn to have between a chunk's
     * scores and the next keys: all or none. */
    template <bool LAST>
    static __device__ void copy_keys(const task &t, const tile &b, const tile_shape &shape,
                                     const uint32_t *entry, uint32_t count);
    template <bool LAST>
    static __device__ void copy_values(const task &t, const tile &b, const tile_shape &shape,
                                       const uint32_t *entry, uint32_t count);
    __device__ void score(const task &t, const tile &b, const tile_shape &shape, uint32_t count,
                          tile_small<HEADS> *m) const;
    static __device__ void values(const task &t, const tile &b, const tile_shape &shape,
                                  uint32_t count, const tile_small<HEADS> *m, float (&o)[HEADS][4]);
};

template <int HEADS> __device__ void by_own_queries<HEADS>::begin(const task &t, const tile &b) {
    unsigned g = threadIdx.x % SHARERS, first = threadIdx.x / 32 % 2 * HEADS;
    for (int h = 0; h < HEADS; h++) {
        const float *from = t.a.q + (b.row * t.a.heads + b.head + first + (unsigned)h) * t.a.width;
        VV_UNROLL
        for (unsigned j = 0; j < 2 * ROUNDS; j++) {
            bool here = first + (unsigned)h < b.heads && j * VV_LANES < t.a.width;
            q[h][j] = here ? *reinterpret_cast<const float2 *>(from + j * VV_LANES + 2 * g)
                           : make_float2(0.0f, 0.0f);
        }
    }
}

/* Copies the rows of a chunk's keys, or values, for the block's key/value head: a warp a row. */
__device__ void copy_chunk(const struct vv_state_view &v, const task &t, const tile &b,
                           const uint32_t *entry, uint32_t count, uint8_t *to, uint32_t row_bytes) {
    uint32_t bytes = (uint32_t)(t.a.width * element_bytes(v)), lane = threadIdx.x % 32 * 16;
    uint32_t stride = (uint32_t)v.entry_stride, warp = threadIdx.x / 32;
    const uint8_t *from = entry_at(v, b.k, 0) + b.kv_head * bytes;
    uint32_t row[CHUNK / TILE_WARPS]; /* looked up before the copies, which let no load pass */
    VV_UNROLL
    for (uint32_t i = 0; i < CHUNK / TILE_WARPS; i++) {
        row[i] = warp + i * TILE_WARPS < count ? entry[warp + i * TILE_WARPS] : 0;
    }
    for (uint32_t at = lane; at < bytes; at += 32 * 16) {
        VV_UNROLL
        for (uint32_t i = 0; i < CHUNK / TILE_WARPS; i++) {
            uint32_t j = warp + i * TILE_WARPS;
            if (j < count) {
                vv_copy_async<16>(to + j * row_bytes + at, from + (size_t)row[i] * stride + at);
            }
        }
    }
}

template <int HEADS>
template <bool LAST>
__device__ void by_own_queries<HEADS>::copy_keys(const task &t, const tile &b,
                                                 const tile_shape &shape, const uint32_t *entry,
                                                 uint32_t count) {
    if (LAST == (shape.value == 0)) {
        copy_chunk(t.a.k, t, b, entry, count, b.key, shape.key_row);
    }
}
template <int HEADS>
template <bool LAST>
__device__ void by_own_queries<HEADS>::copy_values(const task &t, const tile &b,
                                                   const tile_shape &shape, const uint32_t *entry,
                                                   uint32_t count) {
    if (LAST == (shape.value == 0)) {
        copy_chunk(t.a.v, t, b, entry, count, b.value, shape.value_row);
    }
}

/* Asks for what a chunk's copies would read. */
__device__ void prefetch_chunk(const struct vv_state_view &v, const task &t, size_t kv_head,
                               const keys &k, uint32_t first) {
    uint32_t row = (uint32_t)(t.a.width * element_bytes(v)), lines = (row + 127) / 128;
    uint32_t left = k.count - first, count = left < CHUNK ? left : CHUNK;
    for (uint32_t i = threadIdx.x; i < count * lines; i += TILE_THREADS) {
        vv_prefetch<false>(entry_at(v, k, first + i / lines) + kv_head * row + i % lines * 128);
    }
}

__device__ float2 two_at(const uint8_t *row, bool half, unsigned i) {
    if (half) {
        return __half22float2(reinterpret_cast<const __half2 *>(row)[i / 2]);
    }
    return reinterpret_cast<const float2 *>(row)[i / 2];
}

__device__ float4 four_at(const uint8_t *row, bool half, unsigned i) {
    if (half) {
        uint2 raw = reinterpret_cast<const uint2 *>(row)[i / 4];
        __half2 low, high;
        memcpy(&low, &raw.x, sizeof low);
        memcpy(&high, &raw.y, sizeof high);
        float2 x = __half22float2(low), y = __half22float2(high);
        return make_float4(x.x, x.y, y.x, y.y);
    }
    return reinterpret_cast<const float4 *>(row)[i / 4];
}

__device__ float exchange(bool upper, float low, float high, int apart) {
    float mine = upper ? high : low, other = upper ? low : high;
    return mine + __shfl_xor_sync(0xffffffffu, other, apart);
}

/* Sums over a segment for AT_ONCE keys: `sum` becomes those of key g / 2 mod 4 in lanes that the
 * thread 1 apart has to be added to. */
template <int HEADS>
__device__ void score_segment(const by_own_queries<HEADS> &q, const uint8_t *const (&key)[AT_ONCE],
                              bool half, int segment, size_t width, float (&sum)[HEADS][2]) {
    unsigned g = threadIdx.x % SHARERS;
    float lane[AT_ONCE][HEADS][2] = {};
    VV_UNROLL
    for (int j = 0; j < ROUNDS; j++) {
        size_t i = (size_t)(segment * VV_SEGMENT + j * VV_LANES);
        if (i < width) {
            VV_UNROLL
            for (int n = 0; n < AT_ONCE; n++) {
                float2 x = two_at(key[n], half, (unsigned)i + 2 * g);
                for (int h = 0; h < HEADS; h++) {
                    float2 y = q.q[h][segment * ROUNDS + j];
                    lane[n][h][0] = fmaf(x.x, y.x, lane[n][h][0]);
                    lane[n][h][1] = fmaf(x.y, y.y, lane[n][h][1]);
                }
            }
        }
    }
    VV_UNROLL
    for (int h = 0; h < HEADS; h++) {
        for (int l = 0; l < 2; l++) {
            float low = exchange(g & 4, lane[0][h][l], lane[2][h][l], 4);
            float high = exchange(g & 4, lane[1][h][l], lane[3][h][l], 4);
            sum[h][l] = exchange(g & 2, low, high, 2);
        }
    }
}

/* Scores of all of the chunk's keys for all of the block's heads; -inf beyond `count`. */
template <int HEADS>
__device__ void by_own_queries<HEADS>::score(const task &t, const tile &b, const tile_shape &shape,
                                             uint32_t count, tile_small<HEADS> *m) const {
    unsigned g = threadIdx.x % SHARERS, group = threadIdx.x % 32 / SHARERS;
    unsigned warp = threadIdx.x / 32, first = warp % 2 * HEADS;
    bool half = t.a.k.type == VV_TYPE_F16;
    for (unsigned at = warp / 2 * (CHUNK / 2), n = 0; n < 2; n++, at += 4 * AT_ONCE) {
        const uint8_t *key[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++) {
            key[i] = b.key + (at + 4 * i + group) * shape.key_row;
        }
        float low[HEADS][2], high[HEADS][2] = {};
        score_segment<HEADS>(*this, key, half, 0, t.a.width, low);
        if (t.a.width > VV_SEGMENT) {
            score_segment<HEADS>(*this, key, half, 1, t.a.width, high);
        }
        unsigned j = at + 4 * (g / 2) + group;
        for (int h = 0; h < HEADS; h++) {
            /* The thread 1 apart takes the other segment's sums. */
            float mine[2];
            for (int l = 0; l < 2; l++) {
                mine[l] = exchange(g & 1, low[h][l], high[h][l], 1);
            }
            float sum = 0.0f;
            sum += mine[0] + mine[1];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            if (g % 2 == 0) {
                m->p[first + (unsigned)h][j] = j < count ? sum * t.a.scale : -INFINITY;
            }
        }
    }
}

/* A key's four columns of values, for each head by its weight. */
template <int HEADS>
__device__ void add_value(const float (&p)[HEADS], float4 v, float (&o)[HEADS][4]) {
    for (int h = 0; h < HEADS; h++) {
        o[h][0] = fmaf(p[h], v.x, o[h][0]);
        o[h][1] = fmaf(p[h], v.y, o[h][1]);
        o[h][2] = fmaf(p[h], v.z, o[h][2]);
        o[h][3] = fmaf(p[h], v.w, o[h][3]);
    }
}

/* o_c of the thread's columns and heads. */
template <int HEADS>
__device__ void by_own_queries<HEADS>::values(const task &t, const tile &b, const tile_shape &shape,
                                              uint32_t count, const tile_small<HEADS> *m,
                                              float (&o)[HEADS][4]) {
    unsigned warp = threadIdx.x / 32, first = warp % 2 * HEADS;
    unsigned d = warp / 2 * (TILE_WIDTH / 2) + threadIdx.x % 32 * 4;
    bool half = t.a.v.type == VV_TYPE_F16;
    for (int h = 0; h < HEADS; h++) {
        o[h][0] = o[h][1] = o[h][2] = o[h][3] = 0.0f;
    }
    if (d >= t.a.width) {
        return;
    }
    auto key = [&](uint32_t j, const float(&p)[HEADS]) {
        add_value<HEADS>(p, four_at(b.value + j * shape.value_row, half, d), o);
    };
    uint32_t j = 0;
    for (; j + 4 <= count; j += 4) {
        float p[4][HEADS];
        for (int h = 0; h < HEADS; h++) {
            float4 four = *reinterpret_cast<const float4 *>(&m->p[first + (unsigned)h][j]);
            p[0][h] = four.x;
            p[1][h] = four.y;
            p[2][h] = four.z;
            p[3][h] = four.w;
        }
        VV_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            key(j + i, p[i]);
        }
    }
    for (; j < count; j++) {
        float p[HEADS];
        for (int h = 0; h < HEADS; h++) {
            p[h] = m->p[first + (unsigned)h][j];
        }
        key(j, p);
    }
}

} // namespace
