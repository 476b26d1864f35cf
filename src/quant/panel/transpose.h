/* Sixteen bytes of each of VV_WIDTH rows g[r], turned so that a vector holds four of every row. */
#pragma once
#include "quant/panel/panel.h"

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* to[i], lane r = bytes at + 4i .. at + 4i + 3 of row r, i = 0 .. 3. What isn't used of it isn't
 * computed, so this is also the way to four bytes of each row, or two. */
#ifdef __AVX512F__

VV_INLINE __m512i vv_quarter_rows(const uint8_t *const *g, size_t at, int r) {
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(g[r] + at)));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(g[r + 4] + at)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(g[r + 8] + at)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(g[r + 12] + at)), 3);
}

VV_INLINE void vv_turn(const uint8_t *const *g, size_t at, vv_lanes *to /* [4] */) {
    __m512i a = vv_quarter_rows(g, at, 0), b = vv_quarter_rows(g, at, 1);
    __m512i c = vv_quarter_rows(g, at, 2), d = vv_quarter_rows(g, at, 3);
    __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    __m512i ab2 = _mm512_unpackhi_epi32(a, b), cd2 = _mm512_unpackhi_epi32(c, d);
    to[0] = (vv_lanes)_mm512_unpacklo_epi64(ab, cd);
    to[1] = (vv_lanes)_mm512_unpackhi_epi64(ab, cd);
    to[2] = (vv_lanes)_mm512_unpacklo_epi64(ab2, cd2);
    to[3] = (vv_lanes)_mm512_unpackhi_epi64(ab2, cd2);
}

#elif defined(__AVX2__)

VV_INLINE __m256i vv_two_rows(const uint8_t *const *g, size_t at, int r) {
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(g[r] + at)));
    return _mm256_inserti128_si256(low, _mm_loadu_si128((const __m128i *)(g[r + 4] + at)), 1);
}

VV_INLINE void vv_turn(const uint8_t *const *g, size_t at, vv_lanes *to /* [4] */) {
    __m256i a = vv_two_rows(g, at, 0), b = vv_two_rows(g, at, 1);
    __m256i c = vv_two_rows(g, at, 2), d = vv_two_rows(g, at, 3);
    __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    __m256i ab2 = _mm256_unpackhi_epi32(a, b), cd2 = _mm256_unpackhi_epi32(c, d);
    to[0] = (vv_lanes)_mm256_unpacklo_epi64(ab, cd);
    to[1] = (vv_lanes)_mm256_unpackhi_epi64(ab, cd);
    to[2] = (vv_lanes)_mm256_unpacklo_epi64(ab2, cd2);
    to[3] = (vv_lanes)_mm256_unpackhi_epi64(ab2, cd2);
}

#elif defined(__aarch64__)

VV_INLINE void vv_turn(const uint8_t *const *g, size_t at, vv_lanes *to /* [4] */) {
    uint32x4_t r[4];
    for (int i = 0; i < 4; i++) {
        r[i] = vreinterpretq_u32_u8(vld1q_u8(g[i] + at));
    }
    uint32x4_t a = vzip1q_u32(r[0], r[2]), b = vzip2q_u32(r[0], r[2]);
    uint32x4_t c = vzip1q_u32(r[1], r[3]), d = vzip2q_u32(r[1], r[3]);
    to[0] = (vv_lanes)vzip1q_u32(a, c);
    to[1] = (vv_lanes)vzip2q_u32(a, c);
    to[2] = (vv_lanes)vzip1q_u32(b, d);
    to[3] = (vv_lanes)vzip2q_u32(b, d);
}

#endif

/* The low halves of lanes as floats. */
VV_INLINE void vv_halves_of(const vv_lanes *v, vv_float_lanes *to) {
#ifdef __AVX512F__
    *to = (vv_float_lanes)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)*v));
#elif defined(__AVX2__)
    __m256i words = _mm256_blend_epi16((__m256i)*v, _mm256_setzero_si256(), 0xaa);
    words = _mm256_packus_epi32(words, words); /* lane by lane of 128 bits */
    words = _mm256_permute4x64_epi64(words, 0x08);
    *to = (vv_float_lanes)_mm256_cvtph_ps(_mm256_castsi256_si128(words));
#elif defined(__aarch64__)
    *to = (vv_float_lanes)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)*v)));
#endif
}

/* The high ones. */
VV_INLINE void vv_high_halves_of(const vv_lanes *v, vv_float_lanes *to) {
    vv_lanes high = *v >> 16;
    vv_halves_of(&high, to);
}

/* Each byte b of v, 0 .. 15, becomes table[b]. */
VV_INLINE void vv_look_up_bytes(const uint8_t *table /* [16] */, vv_lanes *v) {
#ifdef __AVX512BW__
    __m128i t = _mm_loadu_si128((const __m128i *)table);
    *v = (vv_lanes)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), (__m512i)*v);
#elif defined(__AVX2__)
    __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    *v = (vv_lanes)_mm256_shuffle_epi8(t, (__m256i)*v);
#elif defined(__aarch64__)
    *v = (vv_lanes)vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)*v);
#endif
}

/* to[0], lane r = the first four bytes of the table's row number index[4r], to[1] the others. */
VV_INLINE void vv_look_up_eights(const int8_t (*table)[8], const uint8_t *index,
                                 vv_lanes *to /* [2] */) {
#ifdef __AVX2__
    __m128i two[VV_WIDTH / 2];
    for (int r = 0; r < VV_WIDTH; r += 2) {
        __m128 v = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)table[index[4 * r]]));
        two[r / 2] = _mm_castps_si128(_mm_loadh_pi(v, (const __m64 *)table[index[4 * r + 4]]));
    }
#ifdef __AVX512F__
    __m512 half[2];
    for (int i = 0; i < 2; i++) {
        __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(two[i]), two[2 + i], 1);
        v = _mm512_inserti32x4(v, two[4 + i], 2);
        half[i] = _mm512_castsi512_ps(_mm512_inserti32x4(v, two[6 + i], 3));
    }
    to[0] = (vv_lanes)_mm512_shuffle_ps(half[0], half[1], 0x88);
    to[1] = (vv_lanes)_mm512_shuffle_ps(half[0], half[1], 0xdd);
#else
    __m256 half[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(two[i]), two[2 + i], 1);
        half[i] = _mm256_castsi256_ps(v);
    }
    to[0] = (vv_lanes)_mm256_shuffle_ps(half[0], half[1], 0x88);
    to[1] = (vv_lanes)_mm256_shuffle_ps(half[0], half[1], 0xdd);
#endif
#elif defined(__aarch64__)
    uint32x4_t two[2];
    for (int i = 0; i < 2; i++) {
        two[i] = vreinterpretq_u32_s8(
            vcombine_s8(vld1_s8(table[index[8 * i]]), vld1_s8(table[index[8 * i + 4]])));
    }
    to[0] = (vv_lanes)vuzp1q_u32(two[0], two[1]);
    to[1] = (vv_lanes)vuzp2q_u32(two[0], two[1]);
#endif
}

/* Each lane becomes the row of the table whose number it is. */
VV_INLINE void vv_look_up_fours(const int8_t (*table)[4], vv_lanes *v) {
#ifdef __AVX512F__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* in GCC's macro, which it is without -O */
    *v = (vv_lanes)_mm512_i32gather_epi32((__m512i)*v, table, 4);
#pragma GCC diagnostic pop
#elif defined(__AVX2__)
    *v = (vv_lanes)_mm256_i32gather_epi32((const int *)(const void *)table, (__m256i)*v, 4);
#else
    uint32_t lanes[VV_WIDTH];
    memcpy(lanes, v, sizeof lanes);
    for (int r = 0; r < VV_WIDTH; r++) {
        memcpy(&lanes[r], table[lanes[r]], sizeof lanes[r]);
    }
    memcpy(v, lanes, sizeof lanes);
#endif
}

/* Bit i of byte k of a lane negates byte i of the eight that w[0] and w[1] have of it. */
VV_INLINE void vv_negate_eights(const vv_lanes *bits, int k, vv_lanes *w /* [2] */) {
    const uint64_t spread = UINT64_C(0x0101010101010101) * (unsigned)k + 0x0404040400000000;
    for (int i = 0; i < 2; i++) {
        const uint32_t own = i == 0 ? 0x08040201 : 0x80402010;
#ifdef __AVX512BW__
        __m512i from = _mm512_broadcast_i32x4(
            _mm_set_epi64x((int64_t)(spread + 0x0808080808080808), (int64_t)spread));
        __mmask64 is = _mm512_test_epi8_mask(_mm512_shuffle_epi8((__m512i)*bits, from),
                                             _mm512_set1_epi32((int32_t)own));
        w[i] = (vv_lanes)_mm512_mask_sub_epi8((__m512i)w[i], is, _mm512_setzero_si512(),
                                              (__m512i)w[i]);
#elif defined(__AVX2__)
        __m256i from = _mm256_broadcastsi128_si256(
            _mm_set_epi64x((int64_t)(spread + 0x0808080808080808), (int64_t)spread));
        __m256i one = _mm256_set1_epi32((int32_t)own);
        __m256i is = _mm256_and_si256(_mm256_shuffle_epi8((__m256i)*bits, from), one);
        is = _mm256_cmpeq_epi8(is, one);
        w[i] = (vv_lanes)_mm256_sub_epi8(_mm256_xor_si256((__m256i)w[i], is), is);
#elif defined(__aarch64__)
        uint8x16_t from = vcombine_u8(vcreate_u8(spread), vcreate_u8(spread + 0x0808080808080808));
        uint8x16_t is =
            vtstq_u8(vqtbl1q_u8((uint8x16_t)*bits, from), vreinterpretq_u8_u32(vdupq_n_u32(own)));
        w[i] = (vv_lanes)vsubq_u8(veorq_u8((uint8x16_t)w[i], is), is);
#endif
    }
}
