/*
 * Scores where a block has so many heads that its queries lie in shared memory, of keys that are
 * 256 halves. Lanes g and g + 8 of a key are the thread's whose lane of the warp is 4 g …:
 * transposing matrices of 8 keys by 8 elements gives them to it, so that the tree's first addition
 * is its own; exchanging with the threads 16, 8 and 4 apart is the rest, halves of the sums for
 * halves.
 */
#pragma once
#include "op/attend/cuda_tile.cuh"

namespace {

enum {
    SHARED_HEADS = 6, /* of a thread */
    PAIRS = ROUNDS / 2,
};

/* How such a block copies keys and values, scores keys, and takes values. */
template <int HEADS> struct by_shared_queries {
    static constexpr int SEGMENTS = TILE_WIDTH / VV_SEGMENT;
    static constexpr uint32_t VALUE_ROW = TILE_WIDTH * 2; /* bytes */
    static constexpr uint32_t KEY_ROW = VALUE_ROW + 16;   /* neighbours lie in other banks */
    /*
     * The last values of a chunk take the place of its last keys, so that a processor has room for
     * three blocks: values, then keys from number HEAD on, in whose place values go on, then the
     * keys before those.
     */
    static constexpr uint32_t TAIL = 16, HEAD = CHUNK - TAIL;
    static constexpr uint32_t BYTES = HEAD * VALUE_ROW + CHUNK * KEY_ROW;
    /* Of head h, segment and pair of rounds: elements 32 pair + g, + 8, + 16, + 24 for each g. */
    float4 *q; /* [2 · HEADS][SEGMENTS][PAIRS][8] shared */

    __device__ void place(tile *b) const {
        b->value = b->key;
        b->key += HEAD * VALUE_ROW;
    }
    __device__ void begin(const task &t, const tile &b) {
        constexpr unsigned WIDTH = TILE_WIDTH;
        float *to = reinterpret_cast<float *>(q);
        for (unsigned i = threadIdx.x; i < 2 * HEADS * WIDTH; i += TILE_THREADS) {
            unsigned h = i / WIDTH, k = i % WIDTH;
            const float *from = t.a.q + (b.row * t.a.heads + b.head + h) * WIDTH;
            to[i / 32 * 32 + k % 8 * 4 + k % 32 / 8] = h < b.heads ? from[k] : 0.0f;
        }
    }

    /* Rows FIRST … END - 1 of a chunk: a warp some that follow each other. */
    template <uint32_t FIRST, uint32_t END, uint32_t ROW>
    static __device__ void copy(const struct vv_state_view &v, const tile &b, const uint32_t *entry,
                                uint32_t count, uint8_t *to) {
        constexpr uint32_t rows = (END - FIRST) / TILE_WARPS;
        uint32_t begin = threadIdx.x / 32 * rows, lane = threadIdx.x % 32 * 16;
        const uint8_t *from = entry_at(v, b.k, 0) + b.kv_head * VALUE_ROW + lane;
        uint32_t stride = (uint32_t)v.entry_stride, row[rows];
        to += begin * ROW + lane;
        begin += FIRST;
        VV_UNROLL
        for (uint32_t i = 0; i < rows; i += 4) { /* what is beyond `count` is not used */
            uint4 four = *reinterpret_cast<const uint4 *>(entry + begin + i);
            memcpy(row + i, &four, sizeof four);
        }
        VV_UNROLL
        for (uint32_t i = 0; i < rows; i++) {
            if (count == CHUNK || begin + i < count) {
                vv_copy_async<16>(to + i * ROW, from + (size_t)row[i] * stride);
            }
        }
    }
    static __device__ uint8_t *keys_from(const tile &b, uint32_t first) {
        return b.key + (first >= HEAD ? first - HEAD : first + TAIL) * KEY_ROW;
    }
    template <bool LAST>
    static __device__ void copy_keys(const task &t, const tile &b, const tile_shape &,
                                     const uint32_t *entry, uint32_t count) {
        copy<LAST ? HEAD : 0, LAST ? CHUNK : HEAD, KEY_ROW>(t.a.k, b, entry, count,
                                                            keys_from(b, LAST ? HEAD : 0));
    }
    template <bool LAST>
    static __device__ void copy_values(const task &t, const tile &b, const tile_shape &,
                                       const uint32_t *entry, uint32_t count) {
        copy<LAST ? HEAD : 0, LAST ? CHUNK : HEAD, VALUE_ROW>(
            t.a.v, b, entry, count, b.value + (LAST ? HEAD : 0) * VALUE_ROW);
    }
    /* Sums over a segment of keys `at` … at + 15 for the thread's heads: lane sums of the keys 2 t,
     * 2 t + 1, 8 + 2 t, 8 + 2 t + 1 become whole ones of one of those and half of the heads. */
    __device__ void segment(const uint8_t *key, int which, unsigned first,
                            float (&sum)[AT_ONCE * HEADS]) const {
        unsigned lane = threadIdx.x % 32;
        float lanes[AT_ONCE][HEADS][2] = {};
        key += lane % 8 * KEY_ROW + (unsigned)which * VV_SEGMENT * 2 + lane / 8 * 16;
        VV_UNROLL
        for (int pair = 0; pair < PAIRS; pair++) {
            float x[AT_ONCE][4];
            VV_UNROLL
            for (int i = 0; i < AT_ONCE / 2; i++) {
                unsigned raw[4];
                vv_load_matrix_transposed(raw, key + (unsigned)i * 8 * KEY_ROW + pair * 64);
                VV_UNROLL
                for (int e = 0; e < 4; e++) {
                    __half2 two;
                    memcpy(&two, &raw[e], sizeof two);
                    float2 both = __half22float2(two);
                    x[2 * i][e] = both.x;
                    x[2 * i + 1][e] = both.y;
                }
            }
            VV_UNROLL
            for (int h = 0; h < HEADS; h++) {
                float4 y = q[((first + (unsigned)h) * SEGMENTS + (unsigned)which) * 8 * PAIRS +
                             (unsigned)pair * 8 + lane / 4];
                VV_UNROLL
                for (int n = 0; n < AT_ONCE; n++) {
                    lanes[n][h][0] = fmaf(x[n][0], y.x, lanes[n][h][0]);
                    lanes[n][h][1] = fmaf(x[n][1], y.y, lanes[n][h][1]);
                    lanes[n][h][0] = fmaf(x[n][2], y.z, lanes[n][h][0]);
                    lanes[n][h][1] = fmaf(x[n][3], y.w, lanes[n][h][1]);
                }
            }
        }
        VV_UNROLL
        for (int i = 0; i < AT_ONCE * HEADS; i++) {
            sum[i] = lanes[i / HEADS][i % HEADS][0] + lanes[i / HEADS][i % HEADS][1];
        }
        vv_scatter_sums<AT_ONCE * HEADS, 16, 4>(sum, lane);
    }

    __device__ void score(const task &t, const tile &b, const tile_shape &, uint32_t count,
                          tile_small<HEADS> *m) const {
        unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp % 2 * HEADS;
        VV_UNROLL_BY(1)
        for (unsigned at = warp / 2 * (CHUNK / 2), n = 0; n < 2; n++, at += 4 * AT_ONCE) {
            float z[HEADS / 2] = {}, sum[AT_ONCE * HEADS];
            VV_UNROLL_BY(1)
            for (int which = 0; which < SEGMENTS; which++) {
                segment(keys_from(b, at), which, first, sum);
                for (int i = 0; i < HEADS / 2; i++) {
                    z[i] += sum[i];
                }
            }
            unsigned j = at + lane / 16 * 8 + lane % 4 * 2 + lane / 8 % 2;
            unsigned head = first + lane / 4 % 2 * (HEADS / 2);
            for (int i = 0; i < HEADS / 2; i++) {
                m->p[head + (unsigned)i][j] = j < count ? z[i] * t.a.scale : -INFINITY;
            }
        }
    }

    static __device__ void values(const task &, const tile &b, const tile_shape &, uint32_t count,
                                  const tile_small<HEADS> *m, float (&o)[HEADS][4]) {
        unsigned warp = threadIdx.x / 32, first = warp % 2 * HEADS;
        const uint8_t *value = b.value + (warp / 2 * (TILE_WIDTH / 2) + threadIdx.x % 32 * 4) * 2;
        const float *p = m->p[first];
        for (int h = 0; h < HEADS; h++) {
            o[h][0] = o[h][1] = o[h][2] = o[h][3] = 0.0f;
        }
        auto key = [&](const uint8_t *at, const float(&p)[HEADS]) {
            add_value<HEADS>(p, four_at(at, true, 0), o);
        };
        uint32_t left = count;
        VV_UNROLL_BY(2)
        for (; left >= 4; left -= 4, value += 4 * VALUE_ROW, p += 4) {
            float some[4][HEADS];
            for (int h = 0; h < HEADS; h++) {
                float4 four = *reinterpret_cast<const float4 *>(p + h * CHUNK);
                some[0][h] = four.x;
                some[1][h] = four.y;
                some[2][h] = four.z;
                some[3][h] = four.w;
            }
            VV_UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                key(value + i * VALUE_ROW, some[i]);
            }
        }
        VV_UNROLL_BY(1)
        for (; left > 0; left--, value += VALUE_ROW, p++) {
            float one[HEADS];
            for (int h = 0; h < HEADS; h++) {
                one[h] = p[h * CHUNK];
            }
            key(value, one);
        }
    }
};

} // namespace
