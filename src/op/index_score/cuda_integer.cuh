/*
 * Integers, by matrix units: a block of 32 codes is the depth of one product. Four codes that a
 * lane holds of such a block, and the four that it holds of its second half, are the two halves of
 * four bytes that lie together.
 *
 * Few rows: sixteen heads of a row by eight keys; what each head is worth goes through shared
 * memory, where a thread a key adds them up in order. Many rows: sixteen rows by eight keys, head
 * after head, so that a thread adds up what it has itself; a block's queries are decoded once, in
 * the order in which lanes take them.
 */
#pragma once
#include "op/index_score/cuda_vectors.cuh"

namespace {

enum {
    CODED_BLOCKS = 4, /* of a vector, at most */
    CODED_TILES = 4,  /* of eight keys, a warp's */
    WARP_KEYS = 8 * CODED_TILES,
    FEW_THREADS = 128,
    FEW_KEYS = WARP_KEYS,
    MANY_THREADS = 256,
    MANY_KEYS = MANY_THREADS / 32 * WARP_KEYS, /* a block's */
    MANY_ROWS = 16,
    STAGE_HEADS = 8,
};

/* Twice the values of four codes, each in the low half of a byte. */
__device__ int doubled_four(unsigned codes) {
    unsigned low = codes & 0x07070707u, minus = (codes >> 3 & 0x01010101u) * 0xffu;
    unsigned choice =
        (low & 0xfu) | (low >> 4 & 0xf0u) | (low >> 8 & 0xf00u) | (low >> 12 & 0xf000u);
    return (int)__vsub4(__byte_perm(0x03020100u, 0x0c080604u, choice) ^ minus, minus);
}

/* The two words of a lane, of a block of codes. */
__device__ uint2 lane_codes(const uint8_t *block) {
    const uint8_t *at = block + 1 + threadIdx.x % 4 * 4;
    unsigned four = at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16 | (unsigned)at[3] << 24;
    return make_uint2((unsigned)doubled_four(four & 0x0f0f0f0fu),
                      (unsigned)doubled_four(four >> 4 & 0x0f0f0f0fu));
}

/* A warp's keys, and the steps of those that a lane's results are of. */
struct coded_keys {
    unsigned code[CODED_TILES][CODED_BLOCKS][2];
    float step[CODED_TILES][CODED_BLOCKS][2];
};

/* Keys `first` and following, of which there are `end`. */
__device__ void load_coded(const task &t, int32_t slot, uint32_t first, uint32_t end,
                           coded_keys &to) {
    unsigned blocks = (unsigned)t.a.width / CODES, group = threadIdx.x % 32 / 4;
    auto key = [&](uint32_t k) { return key_at(t, slot, k < end ? k : 0); };
    VV_UNROLL
    for (unsigned n = 0; n < CODED_TILES; n++) {
        uint32_t at = first + 8 * n, column = at + threadIdx.x % 4 * 2;
        const uint8_t *own = key(at + group), *low = key(column), *high = key(column + 1);
        VV_UNROLL
        for (unsigned b = 0; b < CODED_BLOCKS; b++) {
            if (b < blocks) {
                uint2 codes = lane_codes(own + b * CODES_BYTES);
                to.code[n][b][0] = codes.x;
                to.code[n][b][1] = codes.y;
                to.step[n][b][0] = step_of(low + b * CODES_BYTES);
                to.step[n][b][1] = step_of(high + b * CODES_BYTES);
            }
        }
    }
}

/* Of sixteen vectors: a lane's codes, and the steps of its two. */
struct coded_queries {
    uint4 code[CODED_BLOCKS];
    float step[CODED_BLOCKS][2];
};

/* The lane's part of sixteen vectors' block, whose bytes are those of the lane's two vectors. */
__device__ uint4 lane_queries(const uint8_t *first, const uint8_t *second) {
    uint2 low = lane_codes(first), high = lane_codes(second);
    return make_uint4(low.x, high.x, low.y, high.y);
}

/* z of the lane's four pairs of a tile. The sums begin at a float whose steps are 1, so that its
 * difference to what they end at is the dot. */
__device__ void coded_dots(const coded_queries &q, const coded_keys &keys, unsigned n,
                           unsigned blocks, float (&z)[4]) {
    constexpr int offset = 0x4b400000;
    z[0] = z[1] = z[2] = z[3] = 0.0f;
    VV_UNROLL
    for (unsigned b = 0; b < CODED_BLOCKS; b++) {
        if (b < blocks) {
            int dot[4] = {offset, offset, offset, offset};
            const unsigned a[4] = {q.code[b].x, q.code[b].y, q.code[b].z, q.code[b].w};
            vv_mma_m16n8k32_s8(dot, a, keys.code[n][b]);
            VV_UNROLL
            for (int i = 0; i < 4; i++) {
                float exact = vv_from_bits((uint32_t)dot[i]) - 12582912.0f;
                z[i] = fmaf(q.step[b][i / 2] * keys.step[n][b][i % 2], exact, z[i]);
            }
        }
    }
}

/* A head onto a sum; `weight` has been multiplied by the scale. */
__device__ float add_weighted(const task &t, float z, float weight, float sum) {
    float positive = z < 0.0f ? 0.0f : z;
    return t.a.weight ? fmaf(positive, weight, sum) : sum + positive;
}

/* ---- few rows ---- */

inline size_t few_bytes(size_t heads) {
    return (FEW_KEYS * (heads | 1) + heads) * sizeof(float);
}

/* Blocks: of keys; rows. */
__global__ void __launch_bounds__(FEW_THREADS) codes_few(task t) {
    unsigned heads = (unsigned)t.a.heads, pitch = heads | 1, blocks = (unsigned)t.a.width / CODES;
    float *z = vv_dynamic_shared<float>(), *weight = z + FEW_KEYS * pitch; /* [keys][heads] */
    size_t row = blockIdx.y;
    uint32_t first = blockIdx.x * FEW_KEYS, end = blocks_of(t, row);
    unsigned lane = threadIdx.x % 32, group = lane / 4;
    if (first + threadIdx.x < end && threadIdx.x < FEW_KEYS) {
        prefetch_key(t, t.slot[row], first + threadIdx.x);
    }
    vv_follow();
    if (first >= end) {
        return;
    }
    for (unsigned h = threadIdx.x; h < heads && t.a.weight; h += FEW_THREADS) {
        weight[h] = t.a.weight[row * heads + h] * t.a.scale;
    }
    coded_keys keys;
    load_coded(t, t.slot[row], first, end, keys);
    for (unsigned head = threadIdx.x / 32 * 16; head < heads; head += FEW_THREADS / 32 * 16) {
        coded_queries q;
        unsigned h[2] = {head + group, head + group + 8};
        const uint8_t *at[2];
        VV_UNROLL
        for (int i = 0; i < 2; i++) {
            at[i] = query_at(t, row, h[i] < heads ? h[i] : 0);
        }
        VV_UNROLL
        for (unsigned b = 0; b < CODED_BLOCKS; b++) {
            if (b < blocks) {
                q.code[b] = lane_queries(at[0] + b * CODES_BYTES, at[1] + b * CODES_BYTES);
                q.step[b][0] = step_of(at[0] + b * CODES_BYTES);
                q.step[b][1] = step_of(at[1] + b * CODES_BYTES);
            }
        }
        VV_UNROLL
        for (unsigned n = 0; n < CODED_TILES; n++) {
            float found[4];
            coded_dots(q, keys, n, blocks, found);
            VV_UNROLL
            for (unsigned i = 0; i < 4; i++) {
                if (h[i / 2] < heads) {
                    z[(8 * n + lane % 4 * 2 + i % 2) * pitch + h[i / 2]] = found[i];
                }
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < FEW_KEYS && first + threadIdx.x < end) {
        float sum = 0.0f;
        VV_UNROLL_BY(8)
        for (unsigned h = 0; h < heads; h++) {
            sum = add_weighted(t, z[threadIdx.x * pitch + h], weight[h], sum);
        }
        store_score(t, row, first + threadIdx.x, sum);
    }
}

/* ---- many rows ---- */

/* Some heads of a block's rows. */
struct coded_stage {
    uint4 code[STAGE_HEADS][CODED_BLOCKS][32]; /* by lane */
    float step[STAGE_HEADS][CODED_BLOCKS][MANY_ROWS];
    float weight[STAGE_HEADS][MANY_ROWS];
};

/* Heads from `head` on, zeros beyond the last; rows: the block's, as lanes know them. */
__device__ void decode_stage(const task &t, int32_t row_of_lane, unsigned head, coded_stage *to) {
    unsigned blocks = (unsigned)t.a.width / CODES, heads = (unsigned)t.a.heads;
    unsigned lane = threadIdx.x % 32, group = lane / 4;
    size_t low = (size_t)__shfl_sync(0xffffffffu, row_of_lane, (int)group);
    size_t high = (size_t)__shfl_sync(0xffffffffu, row_of_lane, (int)group + 8);
    for (unsigned i = threadIdx.x / 32; i < STAGE_HEADS * blocks; i += MANY_THREADS / 32) {
        unsigned h = i / blocks, b = i % blocks;
        if (head + h < heads) {
            const uint8_t *first = query_at(t, low, head + h) + b * CODES_BYTES;
            const uint8_t *second = query_at(t, high, head + h) + b * CODES_BYTES;
            to->code[h][b][lane] = lane_queries(first, second);
            if (lane % 4 == 0) {
                to->step[h][b][group] = step_of(first);
                to->step[h][b][group + 8] = step_of(second);
            }
        }
    }
    unsigned h = threadIdx.x / MANY_ROWS, r = threadIdx.x % MANY_ROWS;
    size_t row = (size_t)__shfl_sync(0xffffffffu, row_of_lane, (int)r);
    if (h < STAGE_HEADS && head + h < heads && t.a.weight) {
        to->weight[h][r] = t.a.weight[row * heads + head + h] * t.a.scale;
    }
}

__device__ void add_stage(const task &t, const coded_stage &s, unsigned heads,
                          const coded_keys &keys, float (&sum)[CODED_TILES][4]) {
    unsigned blocks = (unsigned)t.a.width / CODES, lane = threadIdx.x % 32, group = lane / 4;
    VV_UNROLL_BY(1)
    for (unsigned h = 0; h < heads; h++) {
        coded_queries q;
        VV_UNROLL
        for (unsigned b = 0; b < CODED_BLOCKS; b++) {
            if (b < blocks) {
                q.code[b] = s.code[h][b][lane];
                q.step[b][0] = s.step[h][b][group];
                q.step[b][1] = s.step[h][b][group + 8];
            }
        }
        const float weight[2] = {s.weight[h][group], s.weight[h][group + 8]};
        VV_UNROLL
        for (unsigned n = 0; n < CODED_TILES; n++) {
            float z[4];
            coded_dots(q, keys, n, blocks, z);
            VV_UNROLL
            for (unsigned i = 0; i < 4; i++) {
                sum[n][i] = add_weighted(t, z[i], weight[i / 2], sum[n][i]);
            }
        }
    }
}

/* Blocks: of keys; rows. Rows of other sequences, which have other keys, take turns. */
__global__ void __launch_bounds__(MANY_THREADS, 2) codes_many(task t) {
    __shared__ coded_stage stage[2];
    unsigned lane = threadIdx.x % 32, heads = (unsigned)t.a.heads;
    uint32_t n = blockIdx.y * MANY_ROWS, rows = t.rows - n < MANY_ROWS ? t.rows - n : MANY_ROWS;
    int32_t row = t.sequence_row[n + (lane < rows ? lane : 0)], slot = t.slot[row];
    uint32_t blocks = blocks_of(t, (size_t)row), first = blockIdx.x * MANY_KEYS;
    uint32_t mine = first + threadIdx.x / 32 * WARP_KEYS;
    vv_follow();
    for (stretch s = {0, 0, 0}; s.end < rows;) {
        s = stretch_from(s.end, rows, slot, blocks);
        if (first >= s.most) {
            continue;
        }
        coded_keys keys;
        load_coded(t, __shfl_sync(0xffffffffu, slot, (int)s.begin), mine, s.most, keys);
        float sum[CODED_TILES][4] = {};
        __syncthreads();
        decode_stage(t, row, 0, &stage[0]);
        for (unsigned head = 0, now = 0; head < heads; head += STAGE_HEADS, now ^= 1) {
            __syncthreads();
            if (head + STAGE_HEADS < heads) {
                decode_stage(t, row, head + STAGE_HEADS, &stage[now ^ 1]);
            }
            unsigned left = heads - head;
            if (mine < s.most) {
                add_stage(t, stage[now], left < STAGE_HEADS ? left : STAGE_HEADS, keys, sum);
            }
        }
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned r = lane / 4 + i / 2 * 8;
            size_t to = (size_t)__shfl_sync(0xffffffffu, row, (int)r);
            uint32_t seen = __shfl_sync(0xffffffffu, blocks, (int)r);
            bool here = r >= s.begin && r < s.end;
            VV_UNROLL
            for (unsigned tile = 0; tile < CODED_TILES; tile++) {
                uint32_t key = mine + 8 * tile + lane % 4 * 2 + i % 2;
                if (here && key < seen) {
                    store_score(t, to, key, sum[tile][i]);
                }
            }
        }
    }
}

} // namespace
