/*
 * Steps that the layouts share, on vectors of 16 values. Compilers left to themselves unroll loops
 * as short as these before they could use vectors; where even the vector's C form isn't compiled to
 * the one instruction that there is, that instruction is named.
 */
#pragma once
#include "quant/segment.h"
#include <string.h>
#ifdef __SSSE3__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

typedef uint8_t vv_bytes16 __attribute__((vector_size(16)));

VV_INLINE uint16_t vv_load16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

VV_INLINE uint32_t vv_load32(const uint8_t *at) {
    return (uint32_t)vv_load16(at) | (uint32_t)vv_load16(at + 2) << 16;
}

/* Scales of well-quantised weights are often denormal halves. */
VV_INLINE float vv_load_half(const uint8_t *at) {
#ifdef __F16C__
    return _cvtsh_ss(vv_load16(at));
#else
    return vv_from_f16(vv_load16(at));
#endif
}

VV_INLINE vv_bytes16 vv_load_bytes(const void *at /* [16] */) {
    vv_bytes16 v;
    memcpy(&v, at, sizeof v);
    return v;
}

VV_INLINE void vv_widen_unsigned(vv_bytes16 v, vv_words16 *to) {
#ifdef __AVX2__
    *to = (vv_words16)_mm256_cvtepu8_epi16((__m128i)v);
#else
    *to = __builtin_convertvector(v, vv_words16);
#endif
}

VV_INLINE void vv_widen_signed(vv_bytes16 v, vv_words16 *to) {
#ifdef __AVX2__
    *to = (vv_words16)_mm256_cvtepi8_epi16((__m128i)v);
#else
    typedef int8_t chars __attribute__((vector_size(16)));
    *to = __builtin_convertvector((chars)v, vv_words16);
#endif
}

VV_INLINE void vv_load_words(const uint8_t *at /* [16] */, vv_words16 *to) {
    vv_widen_unsigned(vv_load_bytes(at), to);
}

/* -1 in word i where bit i is set, else 0. */
VV_INLINE void vv_spread_bits(uint16_t bits, vv_words16 *to) {
    const vv_words16 own = {1,   2,   4,    8,    16,   32,   64,    128,
                            256, 512, 1024, 2048, 4096, 8192, 16384, -32768};
    *to = (own & (int16_t)bits) != 0;
}

/* Values of sixteen four-bit codes from a table of sixteen. */
VV_INLINE void vv_look_up(const int8_t *table /* [16] */, vv_bytes16 code, vv_words16 *to) {
    vv_bytes16 value;
#ifdef __SSSE3__
    value = (vv_bytes16)_mm_shuffle_epi8((__m128i)vv_load_bytes(table), (__m128i)code);
#elif defined(__aarch64__)
    value = (vv_bytes16)vqtbl1q_s8(vld1q_s8(table), (uint8x16_t)code);
#else
    for (int i = 0; i < 16; i++) {
        value[i] = (uint8_t)table[code[i]];
    }
#endif
    vv_widen_signed(value, to);
}

/* Two rows of eight bytes side by side. */
VV_INLINE vv_bytes16 vv_pair(const int8_t *first /* [8] */, const int8_t *second /* [8] */) {
    typedef uint64_t pair __attribute__((vector_size(16)));
    uint64_t a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    return (vv_bytes16)(pair){a, b};
}

/* Four rows of four bytes side by side. */
VV_INLINE vv_bytes16 vv_four(const int8_t *first /* [4] */, const int8_t *second,
                             const int8_t *third, const int8_t *fourth) {
    typedef uint32_t four __attribute__((vector_size(16)));
    uint32_t a, b, c, d;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    memcpy(&c, third, sizeof c);
    memcpy(&d, fourth, sizeof d);
    return (vv_bytes16)(four){a, b, c, d};
}

/* Magnitudes, negative where the bit is set. */
VV_INLINE void vv_give_signs(vv_bytes16 magnitude, uint32_t signs, vv_words16 *to) {
    vv_words16 v, negative;
    vv_widen_unsigned(magnitude, &v);
    vv_spread_bits((uint16_t)signs, &negative);
    *to = (v ^ negative) - negative;
}

/* Sub-scales of 32 values, one a byte, to one for each 16. */
VV_INLINE void vv_store_twice(uint32_t bytes, int16_t *to /* [8] */) {
    for (int k = 0; k < 8; k++) {
        to[k] = (int16_t)(bytes >> 8 * (k / 2) & 255);
    }
}
