/*
 * Q2_0, 64 values: f16 d; u8 qs[16]. Value i has bits 2 (i mod 4) and up of qs[i / 4]; value
 * d * (code - 1). A fork writes 128 values a block under the same id: f16 d; u8 qs[32].
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_2bit(const uint8_t *qs, int bytes, int16_t *w) {
    for (int i = 0; i < bytes; i++) {
        for (int j = 0; j < 4; j++) {
            w[4 * i + j] = (int16_t)((qs[i] >> 2 * j & 3) - 1);
        }
    }
}

VV_INLINE void vv_unpack_q2_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    out->step_d[2 * part] = out->step_d[2 * part + 1] = vv_load_half(block);
    vv_unpack_2bit(block + 2, 16, out->w + 64 * part);
}

VV_INLINE void vv_unpack_q2_0_128(const uint8_t *block, size_t part, struct vv_segment *out) {
    (void)part;
    float d = vv_load_half(block);
    for (int b = 0; b < 4; b++) {
        out->step_d[b] = d;
    }
    vv_unpack_2bit(block + 2, 32, out->w);
}
