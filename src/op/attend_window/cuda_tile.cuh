/*
 * A chunk of keys, which all heads share, and eight heads of a row, by a block of eight warps. The
 * chunk lies in shared memory by columns, widened: [values][keys].
 *
 * Scores: a thread has four keys, two heads and a segment, and walks the contract's lanes depth
 * first, so that nothing is exchanged. The thread of the first segment adds the sums up in order.
 *
 * Values: a thread has eight heads and two columns that lie apart; four keys at a time.
 */
#pragma once
#include "op/attend_window/cuda_keys.cuh"

namespace {

enum {
    TILE_THREADS = 256,
    TILE_WIDTH = 512, /* the most */
    SEGMENTS_MOST = TILE_WIDTH / VV_SEGMENT,
    PITCH = CHUNK + 4, /* floats: columns that follow each other begin four banks apart */
    TILE_HEADS = 8,
    KEYS_EACH = 4,
    PAIR = 2, /* heads of a thread's scores */
    TILES = CHUNK / KEYS_EACH * TILE_HEADS / PAIR,
    TILE_COLUMNS = TILE_WIDTH / TILE_THREADS, /* of a thread's values */
};
static_assert(SEGMENTS_MOST * TILES == TILE_THREADS, "a thread has a segment");

/* The block's shared memory. `depth`: values of a row, up to whole segments. */
struct tile {
    float *key;   /* [depth][PITCH] */
    float *q;     /* [depth][TILE_HEADS] */
    float *other; /* [segments but the first][TILE_HEADS][CHUNK] sums */
    float *p;     /* [TILE_HEADS][CHUNK] */
    unsigned depth;
};

static __host__ __device__ inline unsigned depth_of(size_t width) {
    return (unsigned)vv_segments(width) * VV_SEGMENT;
}

inline size_t tile_bytes(size_t width) {
    size_t depth = depth_of(width), sums = SEGMENTS_MOST * TILE_HEADS * CHUNK;
    return (depth * (PITCH + TILE_HEADS) + sums) * sizeof(float);
}

__device__ tile tile_of(size_t width) {
    auto memory = vv_dynamic_shared<float>();
    unsigned depth = depth_of(width);
    float *q = memory + depth * PITCH, *other = q + depth * TILE_HEADS;
    return {memory, q, other, other + (SEGMENTS_MOST - 1) * TILE_HEADS * CHUNK, depth};
}

/* ---- loads ---- */

/* Values i and following; zeros from `width`, a multiple of eight, on. */
__device__ void load_eight(const entry &e, unsigned i, unsigned width, float (&x)[8]) {
    VV_UNROLL
    for (unsigned c = 0; c < 8; c++) {
        x[c] = 0.0f;
    }
    if (i < width && e.type == VV_TYPE_F16) {
        uint4 raw = *reinterpret_cast<const uint4 *>(e.at + 2 * i);
        const unsigned word[4] = {raw.x, raw.y, raw.z, raw.w};
        VV_UNROLL
        for (unsigned c = 0; c < 4; c++) {
            __half2 two;
            memcpy(&two, &word[c], sizeof two);
            float2 wide = __half22float2(two);
            x[2 * c] = wide.x;
            x[2 * c + 1] = wide.y;
        }
    } else if (i < width) {
        auto four = reinterpret_cast<const float4 *>(e.at + 4 * i);
        float4 low = four[0], high = four[1];
        const float all[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        VV_UNROLL
        for (unsigned c = 0; c < 8; c++) {
            x[c] = all[c];
        }
    }
}

/* Keys low … high - 1 of the chunk, zeros for the others. A warp has sixteen keys. */
__device__ void load_keys(const entry *at, unsigned low, unsigned high, size_t width,
                          unsigned depth, float *key) {
    constexpr unsigned warps = TILE_THREADS / 32, blocks = CHUNK / 16, apart = warps / blocks * 16;
    constexpr unsigned together = 4;
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, j = warp % blocks * 16 + lane % 16;
    bool here = j >= low && j < high;
    entry e = at[here ? j : low];
    VV_UNROLL_BY(1)
    for (unsigned first = warp / blocks * 16 + lane / 16 * 8; first < depth;
         first += together * apart) {
        float x[together][8];
        VV_UNROLL
        for (unsigned n = 0; n < together; n++) {
            load_eight(e, first + n * apart, here ? (unsigned)width : 0, x[n]);
        }
        VV_UNROLL
        for (unsigned n = 0; n < together; n++) {
            if (first + n * apart < depth) {
                VV_UNROLL
                for (unsigned c = 0; c < 8; c++) {
                    key[(first + n * apart + c) * PITCH + j] = x[n][c];
                }
            }
        }
    }
}

/* Queries of the heads from `head` on; zeros beyond the last. */
__device__ void load_queries(const task &t, size_t row, size_t head, tile &to) {
    unsigned h = threadIdx.x % TILE_HEADS, width = (unsigned)t.a.width;
    bool here = head + h < t.a.heads;
    const float *q = t.a.q + (row * t.a.heads + (here ? head + h : 0)) * width;
    entry e = {reinterpret_cast<const uint8_t *>(q), VV_TYPE_F32};
    VV_UNROLL_BY(2)
    for (unsigned i = threadIdx.x / TILE_HEADS * 8; i < to.depth;
         i += TILE_THREADS / TILE_HEADS * 8) {
        float x[8];
        load_eight(e, i, here ? width : 0, x);
        VV_UNROLL
        for (unsigned c = 0; c < 8; c++) {
            to.q[(i + c) * TILE_HEADS + h] = x[c];
        }
    }
}

/* ---- scores ---- */

struct sums {
    float of[KEYS_EACH][PAIR];
};

__device__ void add(sums &to, const sums &other) {
    VV_UNROLL
    for (int k = 0; k < KEYS_EACH; k++) {
        VV_UNROLL
        for (int h = 0; h < PAIR; h++) {
            to.of[k][h] += other.of[k][h];
        }
    }
}

/* One lane of a segment: its values lie 16 apart. */
__device__ sums lane_sum(const float *key, const float *q, unsigned lane) {
    sums s = {};
    VV_UNROLL
    for (unsigned j = 0; j < VV_SEGMENT / VV_LANES; j++) {
        unsigned i = j * VV_LANES + lane;
        float4 four = *reinterpret_cast<const float4 *>(key + i * PITCH);
        const float k[KEYS_EACH] = {four.x, four.y, four.z, four.w};
        float2 heads = *reinterpret_cast<const float2 *>(q + i * TILE_HEADS);
        VV_UNROLL
        for (int n = 0; n < KEYS_EACH; n++) {
            s.of[n][0] = fmaf(k[n], heads.x, s.of[n][0]);
            s.of[n][1] = fmaf(k[n], heads.y, s.of[n][1]);
        }
    }
    return s;
}

/* to += other, or the first of both. */
__device__ void join(sums &to, const sums &other, bool first) {
    if (first) {
        to = other;
    } else {
        add(to, other);
    }
}

/* A segment: the tree over its lanes. As it runs once, it is a loop at all levels: its code is
 * fetched as it goes. */
__device__ sums segment_sum(const float *key, const float *q) {
    sums all, half, quarter, two;
    VV_UNROLL_BY(1)
    for (unsigned a = 0; a < 2; a++) {
        VV_UNROLL_BY(1)
        for (unsigned b = 0; b < 2; b++) {
            VV_UNROLL_BY(1)
            for (unsigned c = 0; c < 2; c++) {
                VV_UNROLL_BY(1)
                for (unsigned d = 0; d < 2; d++) {
                    join(two, lane_sum(key, q, a + 2 * b + 4 * c + 8 * d), d == 0);
                }
                join(quarter, two, c == 0);
            }
            join(half, quarter, b == 0);
        }
        join(all, half, a == 0);
    }
    return all;
}

__device__ float4 keys_of_head(const sums &s, int h) {
    return make_float4(s.of[0][h], s.of[1][h], s.of[2][h], s.of[3][h]);
}

/* p = scores of keys low … high - 1 of the chunk, -inf for the others. */
__device__ void tile_scores(const tile &m, unsigned low, unsigned high, float scale) {
    unsigned at = threadIdx.x % TILES, segment = threadIdx.x / TILES;
    unsigned k = KEYS_EACH * (at % 8 + at / 32 * 8), h = PAIR * (at % 32 / 8);
    unsigned segments = m.depth / VV_SEGMENT;
    bool here = k + KEYS_EACH > low && k < high;
    sums sum = {};
    if (segment < segments && __any_sync(0xffffffffu, here)) {
        sums s = segment_sum(m.key + segment * VV_SEGMENT * PITCH + k,
                             m.q + segment * VV_SEGMENT * TILE_HEADS + h);
        VV_UNROLL
        for (int i = 0; i < PAIR && segment > 0; i++) {
            float *to = m.other + ((segment - 1) * TILE_HEADS + h + (unsigned)i) * CHUNK + k;
            *reinterpret_cast<float4 *>(to) = keys_of_head(s, i);
        }
        add(sum, s);
    }
    __syncthreads();
    if (segment > 0) {
        return;
    }
    VV_UNROLL
    for (int i = 0; i < PAIR; i++) {
        float4 z = keys_of_head(sum, i);
        VV_UNROLL_BY(1)
        for (unsigned n = 1; n < segments; n++) {
            float4 more = *reinterpret_cast<const float4 *>(
                m.other + ((n - 1) * TILE_HEADS + h + (unsigned)i) * CHUNK + k);
            z = make_float4(z.x + more.x, z.y + more.y, z.z + more.z, z.w + more.w);
        }
        float *to = m.p + (h + (unsigned)i) * CHUNK + k;
        to[0] = k >= low && k < high ? z.x * scale : -INFINITY;
        to[1] = k + 1 >= low && k + 1 < high ? z.y * scale : -INFINITY;
        to[2] = k + 2 >= low && k + 2 < high ? z.z * scale : -INFINITY;
        to[3] = k + 3 >= low && k + 3 < high ? z.w * scale : -INFINITY;
    }
}

/* ---- values ---- */

struct outputs {
    float of[TILE_HEADS][TILE_COLUMNS];
};

/* Four keys' values by their p, in order. */
__device__ float add_values(const float4 &p, const float4 &v, float sum) {
    sum = fmaf(p.x, v.x, sum);
    sum = fmaf(p.y, v.y, sum);
    sum = fmaf(p.z, v.z, sum);
    return fmaf(p.w, v.w, sum);
}

__device__ void tile_values(const tile &m, unsigned low, unsigned high, outputs &o) {
    const float *column = m.key + threadIdx.x * PITCH;
    o = {};
    VV_UNROLL_BY(1)
    for (unsigned j = low / 4 * 4; j < high; j += 4) {
        float4 by[TILE_HEADS];
        VV_UNROLL
        for (unsigned h = 0; h < TILE_HEADS; h++) {
            by[h] = *reinterpret_cast<const float4 *>(m.p + h * CHUNK + j);
        }
        VV_UNROLL
        for (unsigned c = 0; c < TILE_COLUMNS; c++) {
            if (threadIdx.x + c * TILE_THREADS < m.depth) {
                float4 v = *reinterpret_cast<const float4 *>(column + c * TILE_THREADS * PITCH + j);
                VV_UNROLL
                for (unsigned h = 0; h < TILE_HEADS; h++) {
                    o.of[h][c] = add_values(by[h], v, o.of[h][c]);
                }
            }
        }
    }
}

} // namespace
