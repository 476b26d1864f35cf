/*
 * Q6_K, 256 values: u8 ql[128]; u8 qh[64]; i8 sc[16]; f16 d. Of half n, value 32 j + l has its low
 * four bits in ql[64 n + 32 (j mod 2) + l], low nibble for j < 2, and its high two at bit 2j of
 * qh[32 n + l]; minus 32. Value d * scale * q, a sub-scale for each 16.
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q6_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *ql = block + 64 * part, *qh = block + 128 + 32 * part;
    const int8_t *sc = (const int8_t *)block + 192 + 8 * part;
    out->d = vv_load_half(block + 208);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = sc[k];
    }
    for (int l = 0; l < 2; l++) {
        vv_words16 a, b, high;
        vv_load_words(ql + 16 * l, &a);
        vv_load_words(ql + 32 + 16 * l, &b);
        vv_load_words(qh + 16 * l, &high);
        out->group[l] = ((a & 15) | (high << 4 & 48)) - 32;
        out->group[2 + l] = ((b & 15) | (high << 2 & 48)) - 32;
        out->group[4 + l] = (a >> 4 | (high & 48)) - 32;
        out->group[6 + l] = (b >> 4 | (high >> 2 & 48)) - 32;
    }
}
