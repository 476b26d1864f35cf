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
    for (int j = 0; j < 4; j++) {
        for (int l = 0; l < 32; l++) {
            int low = ql[32 * (j % 2) + l] >> 4 * (j / 2) & 15, high = qh[l] >> 2 * j & 3;
            out->w[32 * j + l] = (int16_t)((low | high << 4) - 32);
        }
    }
}
