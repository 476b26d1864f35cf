/*
 * Integers: a thread has two keys, decoded in registers, and meets all heads of a row, which are
 * decoded in shared memory; their sum is its own, so nothing is exchanged.
 */
#pragma once
#include "op/index_score/cuda_vectors.cuh"

namespace {

enum {
    CODED_THREADS = 64,
    CODED_EACH = 2, /* keys of a thread */
    CODED_KEYS = CODED_THREADS * CODED_EACH,
    CODED_ROWS = 16,  /* a block's */
    CODED_BLOCKS = 4, /* of a vector, at most */
};

/* A vector: codes doubled, as signed bytes, the first 16 of a block in its first four words. */
struct coded {
    int4 codes[CODED_BLOCKS][2];
    float step[CODED_BLOCKS];
};

/* Twice the values of four codes, each in the low half of a byte. */
__device__ int doubled_four(unsigned codes) {
    unsigned low = codes & 0x07070707u, minus = (codes >> 3 & 0x01010101u) * 0xffu;
    unsigned choice =
        (low & 0xfu) | (low >> 4 & 0xf0u) | (low >> 8 & 0xf00u) | (low >> 12 & 0xf000u);
    return (int)__vsub4(__byte_perm(0x03020100u, 0x0c080604u, choice) ^ minus, minus);
}

__device__ void decode_block(const uint8_t *block, coded *to, unsigned b) {
    int word[8];
    VV_UNROLL
    for (int w = 0; w < 4; w++) {
        const uint8_t *at = block + 1 + 4 * w;
        unsigned four =
            at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16 | (unsigned)at[3] << 24;
        word[w] = doubled_four(four & 0x0f0f0f0fu);
        word[w + 4] = doubled_four(four >> 4 & 0x0f0f0f0fu);
    }
    to->codes[b][0] = make_int4(word[0], word[1], word[2], word[3]);
    to->codes[b][1] = make_int4(word[4], word[5], word[6], word[7]);
    to->step[b] = step_of(block);
}

__device__ int dot_of_four(int4 a, int4 b, int sum) {
    sum = __dp4a(a.x, b.x, sum);
    sum = __dp4a(a.y, b.y, sum);
    sum = __dp4a(a.z, b.z, sum);
    return __dp4a(a.w, b.w, sum);
}

__device__ float coded_dot(const coded &q, const coded &key, unsigned blocks) {
    float z = 0.0f;
    VV_UNROLL
    for (unsigned b = 0; b < CODED_BLOCKS; b++) {
        if (b < blocks) {
            int dot = dot_of_four(q.codes[b][0], key.codes[b][0], 0);
            dot = dot_of_four(q.codes[b][1], key.codes[b][1], dot);
            z = fmaf(q.step[b] * key.step[b], (float)dot, z);
        }
    }
    return z;
}

/* Blocks: of keys; rows. */
__global__ void __launch_bounds__(CODED_THREADS) codes(task t) {
    vv_follow();
    coded *q = vv_dynamic_shared<coded>(); /* [heads] */
    coded key[CODED_EACH];
    unsigned coded_blocks = (unsigned)t.a.width / CODES;
    uint32_t first = blockIdx.x * CODED_KEYS, n = blockIdx.y * CODED_ROWS, held = 0;
    uint32_t end = n + CODED_ROWS < t.rows ? n + CODED_ROWS : t.rows;
    int32_t slot = -1;
    for (; n < end; n++) {
        size_t row = (size_t)t.sequence_row[n];
        uint32_t blocks = blocks_of(t, row);
        if (first >= blocks) {
            continue;
        }
        __syncthreads();
        for (size_t i = threadIdx.x; i < t.a.heads * coded_blocks; i += CODED_THREADS) {
            size_t head = i / coded_blocks, b = i % coded_blocks;
            decode_block(query_at(t, row, head) + b * CODES_BYTES, q + head, (unsigned)b);
        }
        VV_UNROLL
        for (unsigned k = 0; k < CODED_EACH && (slot != t.slot[row] || held < blocks); k++) {
            uint32_t block = first + k * CODED_THREADS + threadIdx.x;
            const uint8_t *from = key_at(t, t.slot[row], block < blocks ? block : first);
            VV_UNROLL
            for (unsigned b = 0; b < CODED_BLOCKS; b++) {
                if (b < coded_blocks) {
                    decode_block(from + b * CODES_BYTES, &key[k], b);
                }
            }
        }
        slot = t.slot[row];
        held = blocks;
        __syncthreads();
        float sum[CODED_EACH] = {};
        for (size_t h = 0; h < t.a.heads; h++) {
            VV_UNROLL
            for (unsigned k = 0; k < CODED_EACH; k++) {
                sum[k] = add_head(t, row, h, coded_dot(q[h], key[k], coded_blocks), sum[k]);
            }
        }
        VV_UNROLL
        for (unsigned k = 0; k < CODED_EACH; k++) {
            uint32_t block = first + k * CODED_THREADS + threadIdx.x;
            if (block < blocks) {
                store_score(t, row, block, sum[k]);
            }
        }
    }
}

} // namespace
