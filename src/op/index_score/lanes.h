/*
 * The integer arithmetic on vectors of which every lane is a key: nothing has to be added across
 * lanes, and the steps of a block are vectors too. A tile holds the 64 keys of a unit with their
 * codes unpacked, four values of a key to a lane; heads come four at a time.
 *
 * The file that includes this is one instruction set's. It defines
 *
 *     BIAS                  added to the codes of queries, which are then unsigned; or 0
 *     sums                  of products, 32-bit or in parts, VV_WIDTH keys side by side
 *     begin(c)              sums of the lanes of c
 *     multiply(s, keys, q)  s plus the products of four values of each key and those in q
 *     finish(s)             the sums as floats
 *
 * or, if it multiplies two heads at a time (PAIRS), instead of `multiply`
 *
 *     multiply_pair(s, keys, q)  the same for eight values, keys[0] having the first four, and both
 *                                heads, whose sums lie in s[0] and s[1] in any order
 *     part_pair(s)               those in order: s[0] the first head's, s[1] the second one's
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
    uint8_t codes[VV_INDEX_CHUNK * VV_INDEX_WIDTH_MAX]; /* [group][width / 4][VV_WIDTH][4] */
    float steps[VV_INDEX_CHUNK * BLOCKS_MAX];           /* [group][blocks][VV_WIDTH], as is: */
    int32_t bias[VV_INDEX_CHUNK * BLOCKS_MAX]; /* what the queries' adds to a sum, negative */
};

struct query {
    uint8_t codes[VV_INDEX_WIDTH_MAX];
    float step[BLOCKS_MAX];
};

static inline const uint8_t *query_of(const struct vv_index_score *a, size_t row, size_t head) {
    return (const uint8_t *)a->q + (row * a->heads + head) * (a->width / BLOCK * BLOCK_BYTES);
}

static inline float step_of(const uint8_t *block) {
    uint32_t e = block[0]; /* 2^-128 and 2^-127 are denormal */
    return vv_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

/* Entries of the table by sixteen four-bit numbers. */
static inline vv_bytes16 look_up(vv_bytes16 table, vv_bytes16 at) {
#ifdef __SSSE3__
    return (vv_bytes16)_mm_shuffle_epi8((__m128i)table, (__m128i)at);
#elif defined(__aarch64__)
    return (vv_bytes16)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)at);
#else
    for (int i = 0; i < 16; i++) {
        at[i] = table[at[i]];
    }
    return at;
#endif
}

/* What the table has for a block's 32 codes, in their order. */
static inline void unpack(const uint8_t *block, vv_bytes16 table, uint8_t *to) {
    vv_bytes16 n = vv_load_bytes(block + 1);
    vv_bytes16 low = look_up(table, n & 15), high = look_up(table, n >> 4);
    memcpy(to, &low, sizeof low);
    memcpy(to + sizeof low, &high, sizeof high);
}

/* The sum of the doubled values of a block's codes, where there is a bias. */
static inline int32_t sum_of(const uint8_t *block) {
#ifdef __SSSE3__
    vv_bytes16 n = vv_load_bytes(block + 1), table = vv_load_bytes(vv_e2m1_doubled) + BIAS;
    vv_bytes16 both = look_up(table, n & 15) + look_up(table, n >> 4);
    __m128i halves = _mm_sad_epu8((__m128i)both, _mm_setzero_si128());
    return _mm_cvtsi128_si32(halves) + _mm_extract_epi16(halves, 4) - 32 * BIAS;
#else
    (void)block;
    return 0; /* no bias here */
#endif
}

/* Key number `lane` of the group. */
static void put_key(const struct vv_index_score *a, const uint8_t *key, size_t group, size_t lane,
                    struct tile *t) {
    size_t blocks = a->width / BLOCK;
    for (size_t b = 0; b < blocks; b++) {
        size_t block = (group * blocks + b) * VV_WIDTH;
        uint8_t code[BLOCK];
        unpack(key + b * BLOCK_BYTES, vv_load_bytes(vv_e2m1_doubled), code);
        t->steps[block + lane] = step_of(key + b * BLOCK_BYTES);
        t->bias[block + lane] = BIAS ? -BIAS * sum_of(key + b * BLOCK_BYTES) : 0;
        for (size_t i = 0; i < BLOCK / 4; i++) {
            memcpy(t->codes + block * BLOCK + (i * VV_WIDTH + lane) * 4, code + 4 * i, 4);
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
        size_t entry = first + (b < count ? b : count - 1);
        put_key(a, vv_state_at(&a->pooled, slot, (int64_t)entry), b / VV_WIDTH, b % VV_WIDTH, t);
    }
}

static void prepare(const struct vv_index_score *a, const uint8_t *q, struct query *to) {
    for (size_t b = 0; b < a->width / BLOCK; b++) {
        unpack(q + b * BLOCK_BYTES, vv_load_bytes(vv_e2m1_doubled) + BIAS, to->codes + b * BLOCK);
        to->step[b] = step_of(q + b * BLOCK_BYTES);
    }
}

#ifdef PAIRS
/* Sums of one block of four heads and GROUPS · VV_WIDTH keys. */
static inline __attribute__((always_inline)) void
multiply_block(const struct query *q /* [HEADS] */, size_t b, const uint8_t *codes,
               size_t group_bytes, sums (*s)[GROUPS] /* [HEADS] */) {
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t h = 0; h < HEADS; h += 2) {
            sums two[2] = {s[h][g], s[h + 1][g]};
#pragma GCC unroll 4
            for (size_t i = 0; i < BLOCK; i += 8) {
                vv_keys keys[2];
                const uint8_t *at[2] = {q[h].codes + b * BLOCK + i, q[h + 1].codes + b * BLOCK + i};
                memcpy(keys, codes + g * group_bytes + i * VV_WIDTH, sizeof keys);
                multiply_pair(two, keys, at);
            }
            part_pair(two);
            s[h][g] = two[0];
            s[h + 1][g] = two[1];
        }
    }
}
#else
/* Sums of one block of four heads and GROUPS · VV_WIDTH keys. */
static inline __attribute__((always_inline)) void
multiply_block(const struct query *q /* [HEADS] */, size_t b, const uint8_t *codes,
               size_t group_bytes, sums (*s)[GROUPS] /* [HEADS] */) {
#pragma GCC unroll 8
    for (size_t i = 0; i < BLOCK; i += 4) {
        vv_keys keys[GROUPS];
        for (size_t g = 0; g < GROUPS; g++) {
            memcpy(&keys[g], codes + g * group_bytes + i * VV_WIDTH, sizeof keys[g]);
        }
        for (size_t h = 0; h < HEADS; h++) {
            int32_t four;
            memcpy(&four, q[h].codes + b * BLOCK + i, sizeof four);
            for (size_t g = 0; g < GROUPS; g++) {
                s[h][g] = multiply(s[h][g], keys[g], four);
            }
        }
    }
}
#endif

/* z of four heads and the keys of GROUPS groups from `group` on. */
static inline __attribute__((always_inline)) void products(const struct vv_index_score *a,
                                                           const struct query *q /* [HEADS] */,
                                                           const struct tile *t, size_t group,
                                                           vv_vector (*z)[GROUPS] /* [HEADS] */) {
    size_t blocks = a->width / BLOCK, stride = blocks * VV_WIDTH;
    for (size_t i = 0; i < HEADS * GROUPS; i++) {
        z[i / GROUPS][i % GROUPS] = (vv_vector){0};
    }
    for (size_t b = 0; b < blocks; b++) {
        size_t at = (group * blocks + b) * VV_WIDTH;
        sums s[HEADS][GROUPS];
        for (size_t g = 0; g < GROUPS; g++) {
            vv_lanes bias;
            memcpy(&bias, t->bias + at + g * stride, sizeof bias);
            for (size_t h = 0; h < HEADS; h++) {
                s[h][g] = begin(bias);
            }
        }
        multiply_block(q, b, t->codes + at * BLOCK, stride * BLOCK, s);
        for (size_t g = 0; g < GROUPS; g++) {
            vv_vector step = vv_load(t->steps + at + g * stride);
            for (size_t h = 0; h < HEADS; h++) {
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
        products(a, q, t, g, z);
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
            prepare(a, query_of(a, row, i < heads ? h + i : h), &q[i]);
        }
        add_heads(a, q, a->weight ? a->weight + row * a->heads + h : NULL, heads, t, sum);
    }
    for (size_t b = 0; b < count; b++) {
        score[b] = a->weight ? sum[b] : sum[b] * a->scale;
    }
}

static void score_unit(const struct vv_index_score *a, size_t row, size_t first, size_t count,
                       void *tile) {
    fill(a, a->window->slot[row], first, count, tile);
    score_tile(a, row, count, tile);
}
