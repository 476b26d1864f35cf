/*
 * Steps that the layouts share. Loops run over 32 or more values where the format allows: compilers
 * unroll shorter ones before they could use vectors.
 */
#pragma once
#include "quant/segment.h"
#include <string.h>
#ifdef __SSSE3__
#include <tmmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

VV_INLINE uint16_t vv_load16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

VV_INLINE uint32_t vv_load32(const uint8_t *at) {
    return (uint32_t)vv_load16(at) | (uint32_t)vv_load16(at + 2) << 16;
}

VV_INLINE float vv_load_half(const uint8_t *at) {
    return vv_from_f16(vv_load16(at));
}

/* The low nibbles of 16 bytes, then the high ones. */
VV_INLINE void vv_nibbles(const uint8_t *from /* [16] */, uint8_t *to /* [32] */) {
    typedef uint8_t bytes __attribute__((vector_size(16)));
    bytes v, low, high;
    memcpy(&v, from, sizeof v);
    low = v & 15;
    high = v >> 4;
    memcpy(to, &low, sizeof low);
    memcpy(to + 16, &high, sizeof high);
}

/* Values of 32 four-bit codes from a table of 16: one byte shuffle where there is one, which no
 * compiler makes of the loop. */
VV_INLINE void vv_look_up(const int8_t *table /* [16] */, const uint8_t *code /* [32] */,
                          int16_t *to /* [32] */) {
    int8_t value[32];
#ifdef __SSSE3__
    __m128i t = _mm_loadu_si128((const __m128i *)table);
    for (int i = 0; i < 32; i += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(code + i));
        _mm_storeu_si128((__m128i *)(value + i), _mm_shuffle_epi8(t, c));
    }
#elif defined(__aarch64__)
    int8x16_t t = vld1q_s8(table);
    vst1q_s8(value, vqtbl1q_s8(t, vld1q_u8(code)));
    vst1q_s8(value + 16, vqtbl1q_s8(t, vld1q_u8(code + 16)));
#else
    for (int i = 0; i < 32; i++) {
        value[i] = table[code[i]];
    }
#endif
    for (int i = 0; i < 32; i++) {
        to[i] = value[i];
    }
}

/* Eight magnitudes of a grid, negative where the bit is set. */
VV_INLINE void vv_sign8(const int8_t *grid /* [8] */, unsigned signs, int16_t *to /* [8] */) {
    for (int j = 0; j < 8; j++) {
        to[j] = (int16_t)(signs >> j & 1 ? -grid[j] : grid[j]);
    }
}

/* Sub-scales of 32 values, one a byte, to one for each 16. */
VV_INLINE void vv_twice(uint32_t bytes, int16_t *to /* [8] */) {
    for (int k = 0; k < 8; k++) {
        to[k] = (int16_t)(bytes >> 8 * (k / 2) & 255);
    }
}
