/*
 * Q2_K, 256 values: u8 sc[16]; u8 qs[64]; f16 d, f16 dmin. Value 128 n + 32 j + l has bits 2j and
 * up of qs[32 n + l]; each 16 values have a byte of sc, the sub-scale below and the minimum above.
 * Value d * scale * q - dmin * min.
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q2_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *sc = block + 8 * part, *qs = block + 16 + 32 * part;
    out->d = vv_load_half(block + 80);
    out->dmin = vv_load_half(block + 82);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = sc[k] & 15;
        out->min[k] = sc[k] >> 4;
    }
    for (int l = 0; l < 2; l++) {
        vv_words16 q;
        vv_load_words(qs + 16 * l, &q);
        for (int j = 0; j < 4; j++) {
            out->group[2 * j + l] = q >> 2 * j & 3;
        }
    }
}
