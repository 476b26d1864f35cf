/* TQ2_0, 256 values: u8 qs[64]; f16 d. Value 128 n + 32 j + l has bits 2j and up of qs[32 n + l];
 * value d * (code - 1). */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_tq2_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *qs = block + 32 * part;
    out->d = vv_load_half(block + 64);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = 1;
    }
    for (int l = 0; l < 2; l++) {
        vv_words16 q;
        vv_load_words(qs + 16 * l, &q);
        for (int j = 0; j < 4; j++) {
            out->group[2 * j + l] = (q >> 2 * j & 3) - 1;
        }
    }
}
