/*
 * The largest magnitude is that of the bit patterns, so that one comparison finds NaN too. With
 * AVX2 a unit is taken in vectors of eight, whose conversion to integers rounds ties to even, and
 * the sums of 16 bytes come from the instruction for sums of differences from zero. Else loops that
 * compilers turn into vectors: adding 1.5 * 2^23 to a number of at most 127 rounds it to an
 * integer, ties to even, and leaves that integer in the low bits; the product was rounded before.
 */
#include "base/isa.h"
#include "base/math.h"
#include "op/quantize_rows/internal.h"
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>

static inline uint32_t largest(const float *x, size_t n) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i top = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 8) {
        __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x + i));
        top = _mm256_max_epu32(top, _mm256_and_si256(bits, magnitude));
    }
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(four);
}

static inline __m256i rounded(const float *x, __m256 inv) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inv));
}

/* n a multiple of 32. */
static inline void integers(const float *x, size_t n, float inv, int8_t *q, int16_t *sum16) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), flip = _mm256_set1_epi8(-128);
    __m256 by = _mm256_set1_ps(inv);
    for (size_t i = 0; i < n; i += 32) {
        __m256i low = _mm256_packs_epi32(rounded(x + i, by), rounded(x + i + 8, by));
        __m256i high = _mm256_packs_epi32(rounded(x + i + 16, by), rounded(x + i + 24, by));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(void *)(q + i), bytes);
        /* Sums of 8 bytes + 128 in each quarter. */
        __m256i sum = _mm256_sad_epu8(_mm256_xor_si256(bytes, flip), _mm256_setzero_si256());
        sum16[i / 16] =
            (int16_t)(_mm256_extract_epi16(sum, 0) + _mm256_extract_epi16(sum, 4) - 16 * 128);
        sum16[i / 16 + 1] =
            (int16_t)(_mm256_extract_epi16(sum, 8) + _mm256_extract_epi16(sum, 12) - 16 * 128);
    }
}
#else
static inline uint32_t largest(const float *restrict x, size_t n) {
    uint32_t top = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = vv_bits(x[i]) & 0x7fffffffu;
        top = magnitude > top ? magnitude : top;
    }
    return top;
}

static inline void integers(const float *restrict x, size_t n, float inv, int8_t *restrict q,
                            int16_t *restrict sum16) {
    const float round = 0x1.8p+23f;
    for (size_t i = 0; i < n; i++) {
        q[i] = (int8_t)(int32_t)(vv_bits(x[i] * inv + round) - vv_bits(round));
    }
    for (size_t k = 0; k < n / 16; k++) {
        int16_t sum = 0;
        for (size_t i = 16 * k; i < 16 * k + 16; i++) {
            sum = (int16_t)(sum + q[i]);
        }
        sum16[k] = sum;
    }
}
#endif

/* Returns whether the unit is in range. `n` is a constant where it matters. */
static inline bool quantise(const float *x, size_t n, int8_t *q, float *scale, int16_t *sum16) {
    uint32_t top = largest(x, n);
    if (top >= vv_bits(0x1p+80f)) {
        return false;
    }
    float amax = vv_from_bits(top), inv = 127.0f / amax;
    *scale = amax / 127.0f;
    if (top < vv_bits(0x1p-60f)) {
        *scale = inv = 0.0f;
    }
    integers(x, n, inv, q, sum16);
    return true;
}

static bool quantise_coarse(const struct vv_planes *p, struct vv_row_segment s) {
    size_t segments = vv_plane_scales(p->width, VV_COARSE_UNIT);
    const float *x = p->x + s.at;
    float *scale = p->coarse_scale + s.row * segments + s.segment;
    int16_t *sum16 = p->coarse_sum16 + s.at / 16;
    if (s.values == 128) {
        return quantise(x, 128, p->coarse_q + s.at, scale, sum16);
    }
    return quantise(x, s.values, p->coarse_q + s.at, scale, sum16);
}

static bool quantise_fine(const struct vv_planes *p, struct vv_row_segment s) {
    for (size_t i = s.at; i < s.at + s.values; i += 32) {
        if (!quantise(p->x + i, 32, p->fine_q + i, p->fine_scale + i / 32,
                      p->fine_sum16 + i / 16)) {
            return false;
        }
    }
    return true;
}

int VV_ISA(vv_quantize_rows_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_quantize_rows *a = args;
    const struct vv_planes *p = &a->planes;
    size_t rows = vv_rows(a->rows);
    for (size_t u = begin; u < end; u++) {
        struct vv_row_segment s = vv_row_segment(p->width, u);
        if ((p->coarse_q && !quantise_coarse(p, s)) || (p->fine_q && !quantise_fine(p, s))) {
            return VV_ERROR_NOT_FINITE;
        }
        vv_panel_rows_of(p, rows, s);
    }
    return VV_OK;
}
