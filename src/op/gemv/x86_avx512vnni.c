/*
 * Products on AVX-512 VNNI, weights as they lie in the file. Sixteen weight rows at a time; within
 * a segment each row's integers are multiplied and summed by vpdpbusd into lanes that a tree of
 * shuffles then adds, so that one vector holds a number of each row, and the contract's float
 * operations are done for sixteen rows at once. A row of weights is unpacked once for up to
 * eight rows of activations.
 *
 * vpdpbusd wants one unsigned factor: weights are shifted by a constant (w + offset >= 0), and
 * offset times the sum of the activations, which the planes have, is taken away again. Exact.
 */
#include "base/half.h"
#include "gguf/types.h"
#include "op/gemv/internal.h"
#include "quant/group_dot.h"
#include "quant/tables.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { ROWS = VV_GROUP_ROWS, WINDOW = 8 };

#define INLINE static inline __attribute__((always_inline))

/* Where a group's rows begin; rows beyond the last one repeat it. */
struct group {
    const uint8_t *at[ROWS];
    size_t width;
};

INLINE __m256i load32(const void *p) {
    return _mm256_loadu_si256(p);
}

INLINE __m512i load64(const void *p) {
    return _mm512_loadu_si512(p);
}

INLINE uint16_t load16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Sixteen halves as floats. */
INLINE __m512 halves(const uint16_t *h) {
    return _mm512_cvtph_ps(load32(h));
}

/*
 * Sums of the lanes of sixteen vectors, one for each weight row: lane r of `low` is the sum of
 * lanes 0 to 7 of p[r], of `high` that of lanes 8 to 15.
 */
INLINE void add_lanes(const __m512i *p /* [16] */, __m512i *low, __m512i *high) {
    __m512i q[4];
    for (int i = 0; i < 4; i++) {
        const __m512i *r = p + 4 * i;
        __m512i a =
            _mm512_add_epi32(_mm512_unpacklo_epi32(r[0], r[1]), _mm512_unpackhi_epi32(r[0], r[1]));
        __m512i b =
            _mm512_add_epi32(_mm512_unpacklo_epi32(r[2], r[3]), _mm512_unpackhi_epi32(r[2], r[3]));
        q[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    }
    __m512i front = _mm512_add_epi32(_mm512_shuffle_i32x4(q[0], q[1], 0x88),
                                     _mm512_shuffle_i32x4(q[0], q[1], 0xdd));
    __m512i back = _mm512_add_epi32(_mm512_shuffle_i32x4(q[2], q[3], 0x88),
                                    _mm512_shuffle_i32x4(q[2], q[3], 0xdd));
    *low = _mm512_shuffle_i32x4(front, back, 0x88);
    *high = _mm512_shuffle_i32x4(front, back, 0xdd);
}

/* ---- block formats: a float scale for each 32 values ---- */

/* How a block of 32 values becomes bytes w + offset. */
typedef __m256i block_bytes(const uint8_t *block);

INLINE __m256i nibbles(const uint8_t *qs) {
    __m128i q = _mm_loadu_si128((const __m128i *)qs);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(q, 4), q), _mm256_set1_epi8(15));
}

INLINE __m256i fifth_bits(const uint8_t *qh) {
    uint32_t bits;
    memcpy(&bits, qh, sizeof bits);
    return _mm256_maskz_set1_epi8(bits, 16);
}

INLINE __m256i look_up(const int8_t *table /* [16] */, int offset, __m256i codes) {
    __m128i t =
        _mm_add_epi8(_mm_loadu_si128((const __m128i *)table), _mm_set1_epi8((char)(uint8_t)offset));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), codes);
}

INLINE __m256i bytes_q8_0(const uint8_t *b) {
    return _mm256_xor_si256(load32(b + 2), _mm256_set1_epi8((char)0x80));
}
INLINE __m256i bytes_q4_0(const uint8_t *b) {
    return nibbles(b + 2);
}
INLINE __m256i bytes_q4_1(const uint8_t *b) {
    return nibbles(b + 4);
}
INLINE __m256i bytes_q5_0(const uint8_t *b) {
    return _mm256_or_si256(nibbles(b + 6), fifth_bits(b + 2));
}
INLINE __m256i bytes_q5_1(const uint8_t *b) {
    return _mm256_or_si256(nibbles(b + 8), fifth_bits(b + 4));
}
INLINE __m256i bytes_iq4_nl(const uint8_t *b) {
    return look_up(vv_iq4nl_values, 128, nibbles(b + 2));
}

/* Scales, and offsets where the format has them, of one block of each row. */
struct block_scales {
    uint16_t d[ROWS], m[ROWS];
};

/* One block's step of the chain: s = fma(d d_x, dot, s), then s = fma(m d_x, sum, s). */
INLINE __m512 block_step(__m512 s, const struct block_scales *scales, __m512i dot, int offset,
                         bool has_m, float dx, int32_t sum) {
    __m512 scale = _mm512_set1_ps(dx);
    dot = _mm512_sub_epi32(dot, _mm512_set1_epi32(offset * sum));
    s = _mm512_fmadd_ps(_mm512_mul_ps(halves(scales->d), scale), _mm512_cvtepi32_ps(dot), s);
    if (has_m) {
        s = _mm512_fmadd_ps(_mm512_mul_ps(halves(scales->m), scale), _mm512_set1_ps((float)sum), s);
    }
    return s;
}

/* Two neighbouring blocks (or one, `both` false) of all rows: bytes and scales. */
INLINE void unpack_blocks(const struct group *g, block_bytes *bytes, size_t at, size_t block_size,
                          bool has_m, bool both, __m512i *w, struct block_scales *scales) {
    for (int r = 0; r < ROWS; r++) {
        const uint8_t *b = g->at[r] + at;
        w[r] = _mm512_castsi256_si512(bytes(b));
        w[r] = _mm512_inserti64x4(w[r], both ? bytes(b + block_size) : _mm256_setzero_si256(), 1);
        for (int k = 0; k < (both ? 2 : 1); k++) {
            scales[k].d[r] = load16(b + (size_t)k * block_size);
            if (has_m) {
                scales[k].m[r] = load16(b + (size_t)k * block_size + 2);
            }
        }
    }
}

INLINE void dots(const __m512i *w, __m512i x, __m512i *low, __m512i *high) {
    __m512i p[ROWS];
    for (int r = 0; r < ROWS; r++) {
        p[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[r], x);
    }
    add_lanes(p, low, high);
}

INLINE void group_block(const struct group *g, block_bytes *bytes, size_t block_size, int offset,
                        bool has_m, const struct vv_planes *x, const size_t *row, size_t rows,
                        __m512 *total) {
    size_t blocks = g->width / 32;
    for (size_t first = 0; first < blocks; first += 4) {
        size_t end = first + 4 < blocks ? first + 4 : blocks;
        __m512 s[WINDOW];
        for (size_t i = 0; i < rows; i++) {
            s[i] = _mm512_setzero_ps();
        }
        for (size_t b = first; b < end; b += 2) {
            bool both = b + 1 < end;
            __m512i w[ROWS], low, high;
            struct block_scales scales[2];
            unpack_blocks(g, bytes, b * block_size, block_size, has_m, both, w, scales);
            for (size_t i = 0; i < rows; i++) {
                size_t at = row[i] * blocks + b;
                const int8_t *q = x->fine_q + 32 * at;
                const int16_t *sum = x->fine_sum16 + 2 * at;
                dots(w, both ? load64(q) : _mm512_zextsi256_si512(load32(q)), &low, &high);
                s[i] = block_step(s[i], &scales[0], low, offset, has_m, x->fine_scale[at],
                                  sum[0] + sum[1]);
                if (both) {
                    s[i] = block_step(s[i], &scales[1], high, offset, has_m, x->fine_scale[at + 1],
                                      sum[2] + sum[3]);
                }
            }
        }
        for (size_t i = 0; i < rows; i++) {
            total[i] = _mm512_add_ps(total[i], s[i]);
        }
    }
}

/* ---- super-block formats: integer sub-scales under one float a segment ---- */

/* A segment of one weight row. Its values lie in two vectors in an order of the format's own, in
 * which a split_row puts the activations too. */
struct row {
    __m512i a, b;             /* bytes w + offset */
    __m512i scale_a, scale_b; /* a sub-scale for each lane of four values */
};

/* What the float part needs of all sixteen. */
struct segment {
    uint16_t d[ROWS], dmin[ROWS];
    /* Four signed bytes each: sub-scales (where they carry the offset) or minimums, of groups of 32
     * values; in two words, of groups of 16. */
    uint32_t group[2][ROWS];
};

typedef void unpack_row(const uint8_t *block, size_t part, int r, struct row *w, struct segment *s);
typedef void split_row(const int8_t *q /* [128] */, __m512i *a, __m512i *b);

/* Each of four bytes for four lanes; each of two bytes for eight. */
INLINE __m512i spread4(uint32_t scales) {
    __m128i pattern = _mm_set_epi32(0x03030303, 0x02020202, 0x01010101, 0);
    return _mm512_cvtepi8_epi32(_mm_shuffle_epi8(_mm_cvtsi32_si128((int32_t)scales), pattern));
}
INLINE __m512i spread2(uint32_t scales, int first, int second) {
    __m256i low = _mm256_set1_epi32((int32_t)(scales >> 8 * first & 63));
    __m256i high = _mm256_set1_epi32((int32_t)(scales >> 8 * second & 63));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The six-bit sub-scales and minimums of Q4_K and Q5_K, four groups of 32 values of this half. */
INLINE void k_scales(const uint8_t *packed, size_t part, uint32_t *scale, uint32_t *min) {
    uint32_t v[3];
    memcpy(v, packed, sizeof v);
    *scale = part ? (v[2] & 0x0f0f0f0fu) | (v[0] >> 2 & 0x30303030u) : v[0] & 0x3f3f3f3fu;
    *min = part ? (v[2] >> 4 & 0x0f0f0f0fu) | (v[1] >> 2 & 0x30303030u) : v[1] & 0x3f3f3f3fu;
}

/* Low nibbles of 64 bytes are groups 0 and 2, high ones 1 and 3. */
INLINE void k_row(const uint8_t *block, const uint8_t *qs, size_t part, int r, struct row *w,
                  struct segment *s) {
    const __m512i low = _mm512_set1_epi8(15);
    uint32_t scale, min;
    __m512i q = load64(qs + 64 * part);
    k_scales(block + 4, part, &scale, &min);
    w->a = _mm512_and_si512(q, low);
    w->b = _mm512_and_si512(_mm512_srli_epi16(q, 4), low);
    w->scale_a = spread2(scale, 0, 2);
    w->scale_b = spread2(scale, 1, 3);
    s->d[r] = load16(block);
    s->dmin[r] = load16(block + 2);
    s->group[0][r] = min;
}

INLINE void row_q4_k(const uint8_t *block, size_t part, int r, struct row *w, struct segment *s) {
    k_row(block, block + 16, part, r, w, s);
}

INLINE void row_q5_k(const uint8_t *block, size_t part, int r, struct row *w, struct segment *s) {
    const __m512i high = _mm512_set1_epi8(16);
    __m512i qh = _mm512_broadcast_i64x4(load32(block + 16));
    int k = (int)(4 * part);
    __m512i bit_a =
        _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << k)), _mm256_set1_epi8((char)(4 << k)), 1);
    k_row(block, block + 48, part, r, w, s);
    w->a = _mm512_or_si512(w->a, _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(qh, bit_a), high));
    w->b = _mm512_or_si512(
        w->b, _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(qh, _mm512_slli_epi16(bit_a, 1)), high));
}

INLINE void split_k(const int8_t *q, __m512i *a, __m512i *b) {
    *a = _mm512_inserti64x4(_mm512_castsi256_si512(load32(q)), load32(q + 64), 1);
    *b = _mm512_inserti64x4(_mm512_castsi256_si512(load32(q + 32)), load32(q + 96), 1);
}

/* Low nibbles of 64 bytes are values 0 to 63, high ones the rest; two more bits in 32 bytes. */
INLINE void row_q6_k(const uint8_t *block, size_t part, int r, struct row *w, struct segment *s) {
    const __m512i low = _mm512_set1_epi8(15), high = _mm512_set1_epi8(0x30);
    const uint8_t *sc = block + 192 + 8 * part;
    uint32_t scale[2];
    __m512i q = load64(block + 64 * part);
    __m512i qh = _mm512_broadcast_i64x4(load32(block + 128 + 32 * part));
    /* Bits 0-1 of a byte belong to values 0 …, 2-3 to 32 …, 4-5 to 64 …, 6-7 to 96 …: moved to 4-5.
     */
    __m512i a = _mm512_mask_blend_epi64(0xf0, _mm512_slli_epi16(qh, 4), _mm512_slli_epi16(qh, 2));
    __m512i b = _mm512_mask_blend_epi64(0xf0, qh, _mm512_srli_epi16(qh, 2));
    memcpy(scale, sc, sizeof scale);
    w->a = _mm512_or_si512(_mm512_and_si512(q, low), _mm512_and_si512(a, high));
    w->b =
        _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(q, 4), low), _mm512_and_si512(b, high));
    w->scale_a = spread4(scale[0]);
    w->scale_b = spread4(scale[1]);
    s->d[r] = load16(block + 208);
    s->group[0][r] = scale[0];
    s->group[1][r] = scale[1];
}

INLINE void split_q6_k(const int8_t *q, __m512i *a, __m512i *b) {
    *a = load64(q);
    *b = load64(q + 64);
}

/* The parts of I of one row: sub-scales times dots. */
INLINE __m512i row_dots(const struct row *w, __m512i a, __m512i b) {
    __m512i x = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w->a, a);
    __m512i y = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w->b, b);
    return _mm512_add_epi32(_mm512_mullo_epi32(x, w->scale_a), _mm512_mullo_epi32(y, w->scale_b));
}

/* Sum over the groups of group * (sum of the activations in it), for all rows. */
INLINE __m512i weighted_sums(const struct segment *s, int words, const int16_t *sum16) {
    __m512i sum = _mm512_setzero_si512();
    for (int k = 0; k < 4 * words; k++) {
        int32_t x = words == 2 ? sum16[k] : sum16[2 * k] + sum16[2 * k + 1];
        __m512i g = _mm512_slli_epi32(load64(s->group[k / 4]), (unsigned)(24 - 8 * (k % 4)));
        sum = _mm512_add_epi32(sum,
                               _mm512_mullo_epi32(_mm512_srai_epi32(g, 24), _mm512_set1_epi32(x)));
    }
    return sum;
}

/* s of all rows, from the parts of their I. */
INLINE __m512 super_step(const struct segment *s, const __m512i *parts /* [16] */, int offset,
                         int words, float scale, const int16_t *sum16) {
    __m512i low, high, sums = weighted_sums(s, words, sum16);
    add_lanes(parts, &low, &high);
    __m512i dot = _mm512_add_epi32(low, high);
    __m512 dx = _mm512_set1_ps(scale);
    if (offset) { /* the shift of the weights */
        dot = _mm512_sub_epi32(dot, _mm512_mullo_epi32(sums, _mm512_set1_epi32(offset)));
    }
    __m512 y = _mm512_mul_ps(_mm512_mul_ps(halves(s->d), dx), _mm512_cvtepi32_ps(dot));
    if (!offset) { /* the format's own minimums */
        y = _mm512_fnmadd_ps(_mm512_mul_ps(halves(s->dmin), dx), _mm512_cvtepi32_ps(sums), y);
    }
    return y;
}

/* One row of activations: a weight row never leaves the registers. */
INLINE void group_super_1(const struct group *g, unpack_row *unpack, split_row *split,
                          size_t block_size, int offset, int words, const struct vv_planes *x,
                          size_t row, __m512 *total) {
    size_t segments = g->width / 128;
    for (size_t n = 0; n < segments; n++) {
        size_t at = row * segments + n;
        struct segment s;
        __m512i a, b, parts[ROWS];
        split(x->coarse_q + 128 * at, &a, &b);
        for (int r = 0; r < ROWS; r++) {
            struct row w;
            unpack(g->at[r] + n / 2 * block_size, n % 2, r, &w, &s);
            parts[r] = row_dots(&w, a, b);
        }
        *total = _mm512_add_ps(*total, super_step(&s, parts, offset, words, x->coarse_scale[at],
                                                  x->coarse_sum16 + 8 * at));
    }
}

INLINE void group_super(const struct group *g, unpack_row *unpack, split_row *split,
                        size_t block_size, int offset, int words, const struct vv_planes *x,
                        const size_t *row, size_t rows, __m512 *total) {
    size_t segments = g->width / 128;
    for (size_t n = 0; n < segments; n++) {
        struct segment s;
        struct row w[ROWS];
        for (int r = 0; r < ROWS; r++) {
            unpack(g->at[r] + n / 2 * block_size, n % 2, r, &w[r], &s);
        }
        for (size_t i = 0; i < rows; i++) {
            size_t at = row[i] * segments + n;
            __m512i a, b, parts[ROWS];
            split(x->coarse_q + 128 * at, &a, &b);
            for (int r = 0; r < ROWS; r++) {
                parts[r] = row_dots(&w[r], a, b);
            }
            total[i] =
                _mm512_add_ps(total[i], super_step(&s, parts, offset, words, x->coarse_scale[at],
                                                   x->coarse_sum16 + 8 * at));
        }
    }
}

/* ---- formats ---- */

/* B(type, name, bytes a block, offset, has m): block formats; S(type, name, order of values, bytes
 * a block, offset): super-block formats, whose minimums go by dmin where the offset is 0. */
#define BLOCK_FORMATS(B)                                                                           \
    B(Q8_0, q8_0, 34, 128, false)                                                                  \
    B(Q4_0, q4_0, 18, 8, false)                                                                    \
    B(Q4_1, q4_1, 20, 0, true)                                                                     \
    B(Q5_0, q5_0, 22, 16, false)                                                                   \
    B(Q5_1, q5_1, 24, 0, true)                                                                     \
    B(IQ4_NL, iq4_nl, 18, 128, false)
#define SUPER_FORMATS(S)                                                                           \
    S(Q4_K, q4_k, k, 144, 0, 1)                                                                    \
    S(Q5_K, q5_k, k, 176, 0, 1)                                                                    \
    S(Q6_K, q6_k, q6_k, 210, 32, 2)

typedef void group_dot(const struct group *g, const struct vv_planes *x, const size_t *row,
                       size_t rows, __m512 *total);

/* One row of activations is by far the commonest case and gets code of its own. */
#define DEFINE_BLOCK(TYPE, name, size, offset, has_m)                                              \
    static void group_##name(const struct group *g, const struct vv_planes *x, const size_t *row,  \
                             size_t rows, __m512 *total) {                                         \
        if (rows == 1) {                                                                           \
            group_block(g, bytes_##name, size, offset, has_m, x, row, 1, total);                   \
        } else {                                                                                   \
            group_block(g, bytes_##name, size, offset, has_m, x, row, rows, total);                \
        }                                                                                          \
    }
#define DEFINE_SUPER(TYPE, name, order, size, offset, words)                                       \
    static void group_##name(const struct group *g, const struct vv_planes *x, const size_t *row,  \
                             size_t rows, __m512 *total) {                                         \
        if (rows == 1) {                                                                           \
            group_super_1(g, row_##name, split_##order, size, offset, words, x, *row, total);      \
        } else {                                                                                   \
            group_super(g, row_##name, split_##order, size, offset, words, x, row, rows, total);   \
        }                                                                                          \
    }
BLOCK_FORMATS(DEFINE_BLOCK)
SUPER_FORMATS(DEFINE_SUPER)

static group_dot *group_dot_of(int type) {
    switch (type) {
#define CASE(TYPE, name, ...)                                                                      \
    case VV_TYPE_##TYPE:                                                                           \
        return group_##name;
        BLOCK_FORMATS(CASE)
        SUPER_FORMATS(CASE)
    default:
        return NULL;
    }
}

bool vv_group_dot_takes(int type) {
    return group_dot_of(type) != NULL;
}

void vv_group_dot_avx512vnni(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                             const struct vv_planes *x, const int32_t *row, size_t rows, float *y,
                             size_t y_row) {
    group_dot *dot = group_dot_of(w->type);
    struct group g = {.width = w->width};
    for (size_t r = 0; r < ROWS; r++) {
        size_t at = first + (r < count ? r : count - 1);
        g.at[r] = w->data + (slice * w->rows + at) * w->row_bytes;
    }
    __mmask16 stored = (__mmask16)((1u << count) - 1);
    for (size_t begin = 0; begin < rows; begin += WINDOW) {
        size_t n = rows - begin < WINDOW ? rows - begin : WINDOW, number[WINDOW];
        __m512 total[WINDOW];
        for (size_t i = 0; i < n; i++) {
            number[i] = row ? (size_t)row[begin + i] : begin + i;
            total[i] = _mm512_setzero_ps();
        }
        dot(&g, x, number, n, total);
        for (size_t i = 0; i < n; i++) {
            _mm512_mask_storeu_ps(y + (begin + i) * y_row, stored, total[i]);
        }
    }
}

/* ---- gemv ---- */

bool vv_gemv_avx512vnni_fits(const void *args) {
    const struct vv_gemv *a = args;
    return vv_group_dot_takes(a->weight->type) && !a->x.float_only;
}

int vv_gemv_avx512vnni(const void *args, size_t begin, size_t end) {
    const struct vv_gemv *a = args;
    size_t rows = vv_rows(a->rows);
    for (size_t o = begin; o < end; o += ROWS) {
        size_t count = end - o < ROWS ? end - o : ROWS;
        vv_group_dot_avx512vnni(a->weight, 0, o, count, &a->x, NULL, rows, a->y + o, a->y_row);
        for (size_t r = 0; r < rows; r++) {
            for (size_t i = 0; i < count; i++) {
                float *y = a->y + r * a->y_row + o + i;
                *y = a->weight->scale ? *y * *a->weight->scale : *y;
                if (!isfinite(*y)) {
                    return VV_ERROR_NOT_FINITE;
                }
            }
        }
    }
    return VV_OK;
}
