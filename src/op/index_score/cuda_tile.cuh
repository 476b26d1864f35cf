/*
 * Floats and halves: a block has 64 keys, widened in shared memory, for some rows. Queries of a few
 * heads stay in registers. Eight threads share some keys; thread g of them has the contract's lanes
 * 2g and 2g + 1, neighbours in memory, of four keys at a time. Exchanging with the threads 4 and 2
 * apart adds the lanes 8 and 4 apart, halves of the keys for halves of the sums. Of few rows each
 * warp takes all for some of the keys; of many each takes some rows for all of them.
 */
#pragma once
#include "op/index_score/cuda_vectors.cuh"

namespace {

enum {
    TILE_WARPS = 4,
    TILE_THREADS = 32 * TILE_WARPS,
    TILE_KEYS = 64,
    TILE_ROWS = 32,          /* a block's */
    TILE_WIDTH = VV_SEGMENT, /* the most; a multiple of 16 */
    KEY_ROW =
        TILE_WIDTH + VV_LANES, /* floats: keys that follow each other lie half the banks apart */
    SHARERS = 8,               /* threads that share keys */
    AT_ONCE = 4,               /* keys a thread takes at a time … */
    TURN_KEYS = AT_ONCE * 32 / SHARERS, /* … and a warp */
    HEADS = 4,                          /* at a time, too */
    ROUNDS = VV_SEGMENT / VV_LANES,
};

/* Keys first … first + TILE_KEYS - 1 of a slot, those that are there. */
template <arithmetic A>
__device__ void widen_keys(const task &t, int32_t slot, uint32_t first, uint32_t end, float *to) {
    uint32_t width = (uint32_t)t.a.width, quarter = width / 4;
    uint32_t keys = end - first < TILE_KEYS ? end - first : TILE_KEYS;
    bool fours =
        t.a.pooled.type == VV_TYPE_F32 &&
        ((uintptr_t)t.a.pooled.base | t.a.pooled.slot_stride | t.a.pooled.entry_stride) % 16 == 0;
    for (uint32_t i = threadIdx.x; i < keys * quarter; i += TILE_THREADS) {
        uint32_t key = i / quarter, at = i % quarter * 4;
        const uint8_t *from = key_at(t, slot, first + key);
        float4 x;
        if (fours) {
            x = reinterpret_cast<const float4 *>(from)[at / 4];
            if (A == HALVES) {
                x = make_float4(
                    __half2float(__float2half_rn(x.x)), __half2float(__float2half_rn(x.y)),
                    __half2float(__float2half_rn(x.z)), __half2float(__float2half_rn(x.w)));
            }
        } else {
            int type = t.a.pooled.type;
            x = make_float4(value_at<A>(from, type, at), value_at<A>(from, type, at + 1),
                            value_at<A>(from, type, at + 2), value_at<A>(from, type, at + 3));
        }
        *reinterpret_cast<float4 *>(to + key * KEY_ROW + at) = x;
    }
}

struct queries {
    float2 q[HEADS][ROUNDS];
};

template <arithmetic A>
__device__ void load_queries(const task &t, size_t row, size_t head, queries &to) {
    unsigned g = threadIdx.x % SHARERS;
    VV_UNROLL
    for (size_t h = 0; h < HEADS; h++) {
        const uint8_t *q = query_at(t, row, head + h);
        VV_UNROLL
        for (size_t j = 0; j < ROUNDS; j++) {
            size_t i = j * VV_LANES + 2 * g;
            bool here = head + h < t.a.heads && i < t.a.width;
            to.q[h][j].x = here ? value_at<A>(q, t.a.q_type, i) : 0.0f;
            to.q[h][j].y = here ? value_at<A>(q, t.a.q_type, i + 1) : 0.0f;
        }
    }
}

__device__ float exchange(bool upper, float low, float high, int apart) {
    float mine = upper ? high : low, other = upper ? low : high;
    return mine + __shfl_xor_sync(0xffffffffu, other, apart);
}

/* z of HEADS heads and the thread's own key, which is g / 2 of the AT_ONCE. */
__device__ void dots(const queries &q, const float *key /* the first; others 4 rows apart */,
                     size_t width, float (&z)[HEADS]) {
    unsigned g = threadIdx.x % SHARERS;
    float lane[AT_ONCE][HEADS][2] = {};
    VV_UNROLL
    for (int j = 0; j < ROUNDS; j++) {
        if ((size_t)j * VV_LANES < width) {
            VV_UNROLL
            for (int n = 0; n < AT_ONCE; n++) {
                const float *at = key + n * 4 * KEY_ROW + j * VV_LANES;
                float2 x = reinterpret_cast<const float2 *>(at)[g];
                VV_UNROLL
                for (int h = 0; h < HEADS; h++) {
                    lane[n][h][0] = fmaf(x.x, q.q[h][j].x, lane[n][h][0]);
                    lane[n][h][1] = fmaf(x.y, q.q[h][j].y, lane[n][h][1]);
                }
            }
        }
    }
    VV_UNROLL
    for (int h = 0; h < HEADS; h++) {
        float sum[2];
        VV_UNROLL
        for (int l = 0; l < 2; l++) {
            float low = exchange(g & 4, lane[0][h][l], lane[2][h][l], 4);
            float high = exchange(g & 4, lane[1][h][l], lane[3][h][l], 4);
            sum[l] = exchange(g & 2, low, high, 2);
            sum[l] += __shfl_xor_sync(0xffffffffu, sum[l], 1);
        }
        z[h] = 0.0f;
        z[h] += sum[0] + sum[1];
    }
}

/* A warp: a row's scores of keys `from` … `to` - 1 of the tile, whose first is block `first`. */
template <arithmetic A>
__device__ void score_keys(const task &t, size_t row, uint32_t blocks, uint32_t first,
                           const float *keys, uint32_t from, uint32_t to) {
    unsigned g = threadIdx.x % SHARERS, group = threadIdx.x % 32 / SHARERS;
    float sum[TILE_KEYS / TURN_KEYS] = {};
    for (size_t head = 0; head < t.a.heads; head += HEADS) {
        queries q;
        load_queries<A>(t, row, head, q);
        VV_UNROLL
        for (uint32_t turn = 0; turn < TILE_KEYS / TURN_KEYS; turn++) {
            uint32_t key = from + turn * TURN_KEYS;
            if (key < to) {
                float z[HEADS];
                dots(q, keys + (key + group) * KEY_ROW, t.a.width, z);
                VV_UNROLL
                for (size_t h = 0; h < HEADS; h++) {
                    if (head + h < t.a.heads) {
                        sum[turn] = add_head(t, row, head + h, z[h], sum[turn]);
                    }
                }
            }
        }
    }
    VV_UNROLL
    for (uint32_t turn = 0; turn < TILE_KEYS / TURN_KEYS; turn++) {
        uint32_t key = from + turn * TURN_KEYS + 4 * (g / 2) + group;
        if (from + turn * TURN_KEYS < to && g % 2 == 0 && first + key < blocks) {
            store_score(t, row, first + key, sum[turn]);
        }
    }
}

/* Blocks: of keys; rows. */
template <arithmetic A> __global__ void __launch_bounds__(TILE_THREADS, 3) tiles(task t) {
    float *keys = vv_dynamic_shared<float>(); /* [TILE_KEYS][KEY_ROW] */
    uint32_t first = blockIdx.x * TILE_KEYS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t n = blockIdx.y * TILE_ROWS, rows = t.rows - n < TILE_ROWS ? t.rows - n : TILE_ROWS;
    int32_t row = t.sequence_row[n + (lane < rows ? lane : 0)], slot = t.slot[row];
    uint32_t blocks = blocks_of(t, (size_t)row);
    for (uint32_t key = first + threadIdx.x; key < first + TILE_KEYS && key < blocks;
         key += TILE_THREADS) {
        prefetch_key(t, slot, key);
    }
    vv_follow();
    for (stretch s = {0, 0, 0}; s.end < rows;) {
        s = stretch_from(s.end, rows, slot, blocks);
        if (first >= s.most) {
            continue;
        }
        bool few = s.end - s.begin < TILE_WARPS;
        uint32_t from = few ? warp * TURN_KEYS : 0, to = few ? from + TURN_KEYS : TILE_KEYS;
        __syncthreads();
        widen_keys<A>(t, __shfl_sync(0xffffffffu, slot, (int)s.begin), first, s.most, keys);
        __syncthreads();
        for (uint32_t l = s.begin + (few ? 0 : warp); l < s.end; l += few ? 1 : TILE_WARPS) {
            size_t mine = (size_t)__shfl_sync(0xffffffffu, row, (int)l);
            uint32_t seen = __shfl_sync(0xffffffffu, blocks, (int)l);
            if (first < seen) {
                score_keys<A>(t, mine, seen, first, keys, from, to);
            }
        }
    }
}

} // namespace
