/*
 * The integer arithmetic on vectors of which every lane is a key: nothing has to be added across
 * lanes, and the steps of a block are vectors too. A tile holds the 64 keys of a unit with their
 * codes unpacked, four values of a key to a lane; heads come four at a time.
 *
 * The file that includes this is one instruction set's. It defines
 *
 *     BIAS                    added to the codes of keys, which are then unsigned; or 0
 *     sums                    of products, 32-bit or in parts, VV_WIDTH keys side by side
 *     begin(c)                sums of c
 *     multiply(s, keys, q)    s plus the products of four values of each key and those in q
 *     finish(s)               the sums as floats
 */
#pragma once
#include "op/index_score/internal.h"
#include "op/index_score/lane_keys.h"
#include "quant/bits.h"
#include "quant/tables.h"

enum { HEADS = 4, GROUPS = 2 /* of lanes */, BLOCK = 32, BLOCK_BYTES = 17 };
enum { KEY_GROUPS = VV_INDEX_CHUNK / VV_WIDTH, BLOCKS_MAX = VV_INDEX_WIDTH_MAX / BLOCK };

struct tile {
    size_t first, count;
    int32_t slot;
    /* [group][width / 4][VV_WIDTH][4] and [group][blocks][VV_WIDTH] */
    uint8_t codes[VV_INDEX_CHUNK * VV_INDEX_WIDTH_MAX];
    float steps[VV_INDEX_CHUNK * BLOCKS_MAX];
};

struct query {
    int8_t codes[VV_INDEX_WIDTH_MAX];
    int32_t bias[BLOCKS_MAX]; /* what the keys' adds to a block's sum, negative */
    float step[BLOCKS_MAX];
};

static inline float step_of(const uint8_t *block) {
    uint32_t e = block[0]; /* 2^-128 and 2^-127 are denormal */
    return vv_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

/* Doubled values, plus `bias`, of a block's 32 codes in their order. */
static inline void unpack(const uint8_t *block, int bias, uint8_t *to) {
    vv_bytes16 n = vv_load_bytes(block + 1), table = vv_load_bytes(vv_e2m1_doubled) + (uint8_t)bias;
    vv_bytes16 half[2] = {n & 15, n >> 4};
    for (int i = 0; i < 2; i++) {
#ifdef __SSSE3__
        half[i] = (vv_bytes16)_mm_shuffle_epi8((__m128i)table, (__m128i)half[i]);
#elif defined(__aarch64__)
        half[i] = (vv_bytes16)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)half[i]);
#else
        for (int k = 0; k < 16; k++) {
            half[i][k] = table[half[i][k]];
        }
#endif
    }
    memcpy(to, half, sizeof half);
}

static void put_key(const struct vv_index_score *a, const uint8_t *key, size_t lane, uint8_t *codes,
                    float *steps) {
    for (size_t b = 0; b < a->width / BLOCK; b++) {
        uint8_t code[BLOCK];
        unpack(key + b * BLOCK_BYTES, BIAS, code);
        steps[b * VV_WIDTH + lane] = step_of(key + b * BLOCK_BYTES);
        for (size_t i = 0; i < BLOCK / 4; i++) {
            memcpy(codes + ((b * BLOCK / 4 + i) * VV_WIDTH + lane) * 4, code + 4 * i, 4);
        }
    }
}

/* Lanes beyond the last key repeat it. */
static void fill(const struct vv_index_score *a, int32_t slot, size_t first, size_t count,
                 struct tile *t) {
    if (t->count >= count && t->first == first && t->slot == slot) {
        return;
    }
    t->first = first;
    t->count = count;
    t->slot = slot;
    for (size_t b = 0; b < VV_INDEX_CHUNK; b++) {
        size_t entry = first + (b < count ? b : count - 1), group = b / VV_WIDTH;
        put_key(a, vv_state_at(&a->pooled, slot, (int64_t)entry), b % VV_WIDTH,
                t->codes + group * VV_WIDTH * a->width,
                t->steps + group * VV_WIDTH * (a->width / BLOCK));
    }
}

static void prepare(const struct vv_index_score *a, const uint8_t *q, struct query *to) {
    for (size_t b = 0; b < a->width / BLOCK; b++) {
        int8_t *codes = to->codes + b * BLOCK;
        int32_t sum = 0;
        unpack(q + b * BLOCK_BYTES, 0, (uint8_t *)codes);
        for (size_t i = 0; i < BLOCK; i++) {
            sum += codes[i];
        }
        to->bias[b] = -BIAS * sum;
        to->step[b] = step_of(q + b * BLOCK_BYTES);
    }
}

/* z of four heads and GROUPS · VV_WIDTH keys. */
static inline __attribute__((always_inline)) void products(const struct vv_index_score *a,
                                                           const struct query *q /* [HEADS] */,
                                                           const uint8_t *codes, const float *steps,
                                                           vv_vector (*z)[GROUPS] /* [HEADS] */) {
    size_t blocks = a->width / BLOCK;
    memset(z, 0, HEADS * sizeof *z);
    for (size_t b = 0; b < blocks; b++) {
        sums s[HEADS][GROUPS];
        for (size_t h = 0; h < HEADS; h++) {
            for (size_t g = 0; g < GROUPS; g++) {
                s[h][g] = begin(q[h].bias[b]);
            }
        }
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i += 4) {
            vv_keys keys[GROUPS];
            for (size_t g = 0; g < GROUPS; g++) {
                memcpy(&keys[g], codes + (g * a->width + i) * VV_WIDTH, sizeof keys[g]);
            }
            for (size_t h = 0; h < HEADS; h++) {
                int32_t four;
                memcpy(&four, q[h].codes + i, sizeof four);
                for (size_t g = 0; g < GROUPS; g++) {
                    s[h][g] = multiply(s[h][g], keys[g], four);
                }
            }
        }
        for (size_t h = 0; h < HEADS; h++) {
            for (size_t g = 0; g < GROUPS; g++) {
                vv_vector step = vv_load(steps + (g * blocks + b) * VV_WIDTH);
                z[h][g] = vv_fma(vv_splat(q[h].step[b]) * step, finish(s[h][g]), z[h][g]);
            }
        }
    }
}

/* `sum` [VV_INDEX_CHUNK] gets the z of `heads` heads, in their order. */
static void add_heads(const struct vv_index_score *a, const struct query *q, const float *weight,
                      size_t heads, const struct tile *t, float *sum) {
    for (size_t g = 0; g * VV_WIDTH < t->count; g += GROUPS) {
        vv_vector z[HEADS][GROUPS];
        products(a, q, t->codes + g * VV_WIDTH * a->width,
                 t->steps + g * VV_WIDTH * (a->width / BLOCK), z);
        for (size_t i = 0; i < GROUPS; i++) {
            vv_vector s = vv_load(sum + (g + i) * VV_WIDTH);
            for (size_t h = 0; h < heads; h++) {
                vv_vector positive = (vv_vector)((vv_lanes)z[h][i] & ~(z[h][i] < 0));
                s = weight ? vv_fma(positive, vv_splat(weight[h] * a->scale), s) : s + positive;
            }
            vv_store(sum + (g + i) * VV_WIDTH, s);
        }
    }
}

static void score_tile(const struct vv_index_score *a, size_t row, size_t count,
                       const struct tile *t) {
    float sum[VV_INDEX_CHUNK] = {0}, *score = a->score + row * a->stride + t->first;
    for (size_t h = 0; h < a->heads; h += HEADS) {
        struct query q[HEADS];
        size_t heads = a->heads - h < HEADS ? a->heads - h : HEADS;
        for (size_t i = 0; i < HEADS; i++) { /* heads beyond the last one aren't added */
            prepare(a, vv_index_query(a, row, i < heads ? h + i : h), &q[i]);
        }
        add_heads(a, q, a->weight ? a->weight + row * a->heads + h : NULL, heads, t, sum);
    }
    for (size_t b = 0; b < count; b++) {
        score[b] = a->weight ? sum[b] : sum[b] * a->scale;
    }
}

static int score(const void *args, size_t begin_unit, size_t end_unit) {
    const struct vv_index_score *a = args;
    struct tile t;
    size_t rows = vv_rows(a->rows);
    t.count = 0;
    for (size_t unit = begin_unit; unit < end_unit; unit++) {
        size_t row = unit % rows, first = unit / rows * VV_INDEX_CHUNK;
        size_t blocks = vv_index_blocks(a, row);
        if (first < blocks) {
            size_t count = blocks - first < VV_INDEX_CHUNK ? blocks - first : VV_INDEX_CHUNK;
            fill(a, a->window->slot[row], first, count, &t);
            score_tile(a, row, count, &t);
        }
    }
    return VV_OK;
}
