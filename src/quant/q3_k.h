/*
 * Q3_K, 256 values: u8 hm[32]; u8 qs[64]; u8 B[12]; f16 d. Value 128 n + 32 j + l has bits 2j and
 * up of qs[32 n + l], minus 4 unless bit 4n + j of hm[l] is set. Sub-scale s of 16 values: low four
 * bits a nibble of B[s mod 8], high two in B[8 + s mod 4], minus 32. Value d * scale * q.
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q3_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *hm = block, *qs = block + 32 + 32 * part, *packed = block + 96;
    out->d = vv_load_half(block + 108);
    for (size_t k = 0; k < 8; k++) {
        int low = packed[k] >> 4 * part & 15,
            high = packed[8 + k % 4] >> (4 * part + k / 4 * 2) & 3;
        out->scale[k] = (int16_t)((low | high << 4) - 32);
    }
    for (int l = 0; l < 2; l++) {
        vv_words16 q, high;
        vv_load_words(qs + 16 * l, &q);
        vv_load_words(hm + 16 * l, &high);
        high >>= 4 * (int)part;
        for (int j = 0; j < 4; j++) {
            out->group[2 * j + l] = ((q >> 2 * j & 3) | (high >> j & 1) << 2) - 4;
        }
    }
}
