/* Q1_0, 128 values: f16 d; u8 qs[16]. Value i is d where bit i mod 8 of qs[i / 8] is set, else -d. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q1_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    (void)part;
    out->d = vv_load_half(block);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = 1;
    }
    for (int i = 0; i < 128; i += 32) {
        uint32_t bits = vv_load32(block + 2 + i / 8);
        for (int j = 0; j < 32; j++) {
            out->w[i + j] = (int16_t)((int)(bits >> j & 1) * 2 - 1);
        }
    }
}
