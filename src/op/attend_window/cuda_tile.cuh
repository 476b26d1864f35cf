/*
 * A chunk of keys, which all heads share, and H heads of a row, by a block of eight warps. The
 * chunk lies in shared memory by columns, widened: [values][keys].
 *
 * Scores: a thread has four keys and a few heads, and walks the contract's lanes depth first, so
 * that a fma needs no more than an eighth of a load, and nothing is exchanged. The four segments
 * are shared by SPLITS threads, of which the first adds the sums up in order.
 *
 * Values: a thread has eight heads and some columns that lie apart; four keys at a time.
 */
#pragma once
#include "op/attend_window/cuda_keys.cuh"

namespace {

enum {
    TILE_THREADS = 256,
    TILE_WIDTH = 512, /* the most */
    SEGMENTS_MOST = TILE_WIDTH / VV_SEGMENT,
    PITCH = CHUNK + 4, /* floats: columns that follow each other begin four banks apart */
    KEYS_EACH = 4,
    KEY_TILES = CHUNK / KEYS_EACH,
    VALUE_HEADS = 8,
    FEW_HEADS = 8,   /* of a block where blocks share a row's chunks */
    MANY_HEADS = 32, /* where a block has all of them */
};

template <int H> struct split {
    static constexpr int HEADS_EACH = H == MANY_HEADS ? 4 : 2;
    static constexpr int TILES = KEY_TILES * H / HEADS_EACH;
    static constexpr int SPLITS = TILE_THREADS / TILES;
    static constexpr int SEGMENTS_EACH = SEGMENTS_MOST / SPLITS;
    static constexpr int APART = TILE_THREADS / (H / VALUE_HEADS); /* columns of a thread */
    static constexpr int COLUMNS = TILE_WIDTH / APART;
};

/* The block's shared memory. `depth`: values of a row, up to whole segments. */
template <int H> struct tile {
    float *key;   /* [depth][PITCH] */
    float *q;     /* [depth][H] */
    float *other; /* [segments but those of the first split][H][CHUNK] sums */
    float *p;     /* [H][CHUNK] */
    unsigned depth;
};

template <int H> struct tile_small {
    entry at[CHUNK];
    float a[H], b[H], l[H];
};

static __host__ __device__ inline unsigned depth_of(size_t width) {
    return (unsigned)vv_segments(width) * VV_SEGMENT;
}

template <int H> constexpr unsigned OTHERS = SEGMENTS_MOST - split<H>::SEGMENTS_EACH;

template <int H> inline size_t tile_bytes(size_t width) {
    size_t depth = depth_of(width), sums = (OTHERS<H> + 1) * H * CHUNK;
    return (depth * (PITCH + H) + sums) * sizeof(float);
}

template <int H> __device__ tile<H> tile_of(size_t width) {
    auto memory = vv_dynamic_shared<float>();
    unsigned depth = depth_of(width);
    float *q = memory + depth * PITCH, *other = q + depth * H;
    return {memory, q, other, other + OTHERS<H> * H * CHUNK, depth};
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
template <int H> __device__ void load_queries(const task &t, size_t row, size_t head, tile<H> &to) {
    unsigned h = threadIdx.x % H, width = (unsigned)t.a.width;
    bool here = head + h < t.a.heads;
    const float *q = t.a.q + (row * t.a.heads + (here ? head + h : 0)) * width;
    entry e = {reinterpret_cast<const uint8_t *>(q), VV_TYPE_F32};
    VV_UNROLL_BY(2)
    for (unsigned i = threadIdx.x / H * 8; i < to.depth; i += TILE_THREADS / H * 8) {
        float x[8];
        load_eight(e, i, here ? width : 0, x);
        VV_UNROLL
        for (unsigned c = 0; c < 8; c++) {
            to.q[(i + c) * H + h] = x[c];
        }
    }
}

/* ---- scores ---- */

template <int N> struct sums { float of[KEYS_EACH][N]; };

template <int N> __device__ void add(sums<N> &to, const sums<N> &other) {
    VV_UNROLL
    for (int k = 0; k < KEYS_EACH; k++) {
        VV_UNROLL
        for (int h = 0; h < N; h++) {
            to.of[k][h] += other.of[k][h];
        }
    }
}

/* One lane of a segment: its values lie 16 apart. */
template <int H, int N>
__device__ sums<N> lane_sum(const float *key, const float *q, unsigned lane) {
    sums<N> s = {};
    VV_UNROLL
    for (unsigned j = 0; j < VV_SEGMENT / VV_LANES; j++) {
        unsigned i = j * VV_LANES + lane;
        float4 four = *reinterpret_cast<const float4 *>(key + i * PITCH);
        const float k[KEYS_EACH] = {four.x, four.y, four.z, four.w};
        float x[N];
        if (N == 4) {
            float4 heads = *reinterpret_cast<const float4 *>(q + i * H);
            const float all[4] = {heads.x, heads.y, heads.z, heads.w};
            VV_UNROLL
            for (int h = 0; h < N; h++) {
                x[h] = all[h];
            }
        } else {
            float2 heads = *reinterpret_cast<const float2 *>(q + i * H);
            const float all[4] = {heads.x, heads.y};
            VV_UNROLL
            for (int h = 0; h < N; h++) {
                x[h] = all[h];
            }
        }
        VV_UNROLL
        for (int n = 0; n < KEYS_EACH; n++) {
            VV_UNROLL
            for (int h = 0; h < N; h++) {
                s.of[n][h] = fmaf(k[n], x[h], s.of[n][h]);
            }
        }
    }
    return s;
}

/* to += other, or the first of both. */
template <int N> __device__ void join(sums<N> &to, const sums<N> &other, bool first) {
    if (first) {
        to = other;
    } else {
        add(to, other);
    }
}

/* A segment: the tree over its lanes. What runs once, of few rows, is a loop at all levels: its
 * code is fetched as it goes. */
template <int H, int N> __device__ sums<N> segment_sum(const float *key, const float *q) {
    [[maybe_unused]] constexpr int inner = H == MANY_HEADS ? 2 : 1;
    sums<N> all, half, quarter, two;
    VV_UNROLL_BY(1)
    for (unsigned a = 0; a < 2; a++) {
        VV_UNROLL_BY(1)
        for (unsigned b = 0; b < 2; b++) {
            VV_UNROLL_BY(inner)
            for (unsigned c = 0; c < 2; c++) {
                VV_UNROLL_BY(inner)
                for (unsigned d = 0; d < 2; d++) {
                    join(two, lane_sum<H, N>(key, q, a + 2 * b + 4 * c + 8 * d), d == 0);
                }
                join(quarter, two, c == 0);
            }
            join(half, quarter, b == 0);
        }
        join(all, half, a == 0);
    }
    return all;
}

template <int N> __device__ float4 keys_of_head(const sums<N> &s, int h) {
    return make_float4(s.of[0][h], s.of[1][h], s.of[2][h], s.of[3][h]);
}

/* p = scores of keys low … high - 1 of the chunk, -inf for the others. */
template <int H>
__device__ void tile_scores(const tile<H> &m, unsigned low, unsigned high, float scale) {
    constexpr int N = split<H>::HEADS_EACH, EACH = split<H>::SEGMENTS_EACH;
    unsigned at = threadIdx.x % split<H>::TILES, part = threadIdx.x / split<H>::TILES;
    unsigned k = KEYS_EACH * (at % 8 + at / 32 % 2 * 8), h = N * (at % 32 / 8 + at / 64 * 4);
    unsigned segments = m.depth / VV_SEGMENT;
    bool here = k + KEYS_EACH > low && k < high;
    sums<N> sum = {};
    VV_UNROLL_BY(1)
    for (unsigned segment = part * EACH; segment < (part + 1) * EACH && segment < segments;
         segment++) {
        if (!__any_sync(0xffffffffu, here)) {
            continue;
        }
        sums<N> s = segment_sum<H, N>(m.key + segment * VV_SEGMENT * PITCH + k,
                                      m.q + segment * VV_SEGMENT * H + h);
        if (part == 0) {
            add(sum, s);
            continue;
        }
        VV_UNROLL
        for (int i = 0; i < N; i++) {
            float *to = m.other + ((segment - EACH) * H + h + (unsigned)i) * CHUNK + k;
            *reinterpret_cast<float4 *>(to) = keys_of_head(s, i);
        }
    }
    __syncthreads();
    if (part > 0) {
        return;
    }
    VV_UNROLL
    for (int i = 0; i < N; i++) {
        float4 z = keys_of_head(sum, i);
        VV_UNROLL_BY(1)
        for (unsigned segment = EACH; segment < segments; segment++) {
            float4 more = *reinterpret_cast<const float4 *>(
                m.other + ((segment - EACH) * H + h + (unsigned)i) * CHUNK + k);
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

template <int H> struct outputs { float of[VALUE_HEADS][split<H>::COLUMNS]; };

template <int H>
__device__ void tile_values(const tile<H> &m, unsigned low, unsigned high, outputs<H> &o) {
    constexpr unsigned APART = split<H>::APART, COLUMNS = split<H>::COLUMNS;
    const float *p = m.p + threadIdx.x / APART * VALUE_HEADS * CHUNK;
    const float *column = m.key + threadIdx.x % APART * PITCH;
    o = {};
    VV_UNROLL_BY(1)
    for (unsigned j = low / 4 * 4; j < high; j += 4) {
        float4 by[VALUE_HEADS];
        VV_UNROLL
        for (unsigned h = 0; h < VALUE_HEADS; h++) {
            by[h] = *reinterpret_cast<const float4 *>(p + h * CHUNK + j);
        }
        VV_UNROLL
        for (unsigned c = 0; c < COLUMNS; c++) {
            if (threadIdx.x % APART + c * APART < m.depth) {
                float4 v = *reinterpret_cast<const float4 *>(column + c * APART * PITCH + j);
                VV_UNROLL
                for (unsigned h = 0; h < VALUE_HEADS; h++) {
                    float sum = o.of[h][c];
                    sum = fmaf(by[h].x, v.x, sum);
                    sum = fmaf(by[h].y, v.y, sum);
                    sum = fmaf(by[h].z, v.z, sum);
                    o.of[h][c] = fmaf(by[h].w, v.w, sum);
                }
            }
        }
    }
}

/* Calls store(head of the tile, column, h, c) for the thread's outputs that there are. */
template <int H, typename Store>
__device__ void each_output(const task &t, size_t head, Store store) {
    constexpr unsigned APART = split<H>::APART, COLUMNS = split<H>::COLUMNS;
    unsigned first = threadIdx.x / APART * VALUE_HEADS;
    VV_UNROLL
    for (unsigned h = 0; h < VALUE_HEADS; h++) {
        VV_UNROLL
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned d = threadIdx.x % APART + c * APART;
            if (d < t.a.width && head + first + h < t.a.heads) {
                store(first + h, d, h, c);
            }
        }
    }
}

} // namespace
