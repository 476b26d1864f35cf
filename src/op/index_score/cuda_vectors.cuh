/* Vectors of the indexer as they lie, and what a row has of them. */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/index_score/contract.h"
VV_C_END

namespace {

enum { CODES = 32, CODES_BYTES = 17 }; /* an MXFP4 block: its exponent, then pairs of codes */

/* The operation as a kernel takes it: the window's arrays where the device has them. Rows are taken
 * sequence by sequence, so that neighbours share keys. */
struct task {
    struct vv_index_score a;
    const int32_t *position, *slot, *sequence_row;
    uint32_t rows;
    uint32_t query_bytes; /* of a vector */
};

enum arithmetic { FLOATS, HALVES, INTEGERS };

/* Blocks of a row that are scored: 0 if it attends to everything. */
__device__ uint32_t blocks_of(const task &t, size_t row) {
    uint32_t blocks = ((uint32_t)t.position[row] + 1) / (uint32_t)t.a.ratio;
    return blocks > t.a.keep ? blocks : 0;
}

__device__ const uint8_t *query_at(const task &t, size_t row, size_t head) {
    return static_cast<const uint8_t *>(t.a.q) + (row * t.a.heads + head) * t.query_bytes;
}

__device__ const uint8_t *key_at(const task &t, int32_t slot, size_t block) {
    return t.a.pooled.base + (size_t)slot * t.a.pooled.slot_stride +
           block * t.a.pooled.entry_stride;
}

/* Asks for a key. */
__device__ void prefetch_key(const task &t, int32_t slot, size_t block) {
    const uint8_t *key = key_at(t, slot, block);
    for (size_t at = 0; at < t.a.pooled.entry_stride; at += 128) {
        vv_prefetch<false>(key + at);
    }
}

/* Twice an E2M1 value. */
__device__ int doubled(unsigned code) {
    unsigned low = code & 7, size = low < 4 ? low : (2 | (low & 1)) << (low / 2 - 1);
    return code & 8 ? -(int)size : (int)size;
}

/* 2^(e - 128), denormal for the least two. */
__device__ float step_of(const uint8_t *block) {
    uint32_t e = block[0];
    return vv_from_bits(e >= 2 ? (e - 1) << 23 : 0x00200000u << e);
}

__device__ int code_at(const uint8_t *vector, size_t i) {
    const uint8_t *block = vector + i / CODES * CODES_BYTES;
    unsigned byte = block[1 + i % 16];
    return doubled(i % CODES < 16 ? byte & 15 : byte >> 4);
}

/* Value i as a float; HALVES: rounded to half first. */
template <arithmetic A> __device__ float value_at(const uint8_t *vector, int type, size_t i) {
    float x;
    if (type == VV_TYPE_F32) {
        x = reinterpret_cast<const float *>(vector)[i];
    } else if (type == VV_TYPE_F16) {
        return __half2float(reinterpret_cast<const __half *>(vector)[i]);
    } else {
        x = (float)code_at(vector, i) * step_of(vector + i / CODES * CODES_BYTES);
    }
    return A == HALVES ? __half2float(__float2half_rn(x)) : x;
}

/* Head h onto a row's sum for a block. */
__device__ float add_head(const task &t, size_t row, size_t h, float z, float sum) {
    float positive = z < 0.0f ? 0.0f : z;
    if (!t.a.weight) {
        return sum + positive;
    }
    return fmaf(positive, t.a.weight[row * t.a.heads + h] * t.a.scale, sum);
}

__device__ void store_score(const task &t, size_t row, size_t block, float sum) {
    t.a.score[row * t.a.stride + block] = t.a.weight ? sum : sum * t.a.scale;
}

/* Rows that follow each other and share a slot's keys, as every warp knows them by its lanes. */
struct stretch {
    uint32_t begin, end; /* lanes */
    uint32_t most;       /* blocks of the row that sees most */
};

__device__ stretch stretch_from(uint32_t begin, uint32_t rows, int32_t slot, uint32_t blocks) {
    uint32_t lane = threadIdx.x % 32;
    int32_t first = __shfl_sync(0xffffffffu, slot, (int)begin);
    uint32_t other = __ballot_sync(0xffffffffu, lane > begin && (lane >= rows || slot != first));
    stretch s = {begin, other ? (uint32_t)__ffs((int)other) - 1 : 32, 0};
    s.most = lane >= begin && lane < s.end ? blocks : 0;
    for (int apart = 16; apart > 0; apart /= 2) {
        uint32_t most = __shfl_xor_sync(0xffffffffu, s.most, apart);
        s.most = most > s.most ? most : s.most;
    }
    return s;
}

} // namespace
