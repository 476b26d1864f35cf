/*
 * TQ1_0, 256 values: u8 qs[48], qh[4]; f16 d. A byte holds five ternary digits as a fraction of 256,
 * most significant first (qh: four): digit k of byte b is floor(3 * (b * 3^k mod 256) / 256), the
 * value d * (digit - 1). Digits k of the first 32 bytes are values 32 k and up; of the next 16 bytes
 * values 160 + 16 k and up; of qh values 240 + 4 k and up.
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_ternary(const uint8_t *from, int bytes, int digit, int16_t *w) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    for (int i = 0; i < bytes; i++) {
        uint8_t rest = (uint8_t)(from[i] * power[digit]);
        w[i] = (int16_t)((rest * 3 >> 8) - 1);
    }
}

VV_INLINE void vv_unpack_tq1_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    out->d = vv_load_half(block + 52);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = 1;
    }
    if (part == 0) {
        for (int k = 0; k < 4; k++) {
            vv_unpack_ternary(block, 32, k, out->w + 32 * k);
        }
        return;
    }
    vv_unpack_ternary(block, 32, 4, out->w);
    for (int k = 0; k < 5; k++) {
        vv_unpack_ternary(block + 32, 16, k, out->w + 32 + 16 * k);
    }
    for (int k = 0; k < 4; k++) {
        vv_unpack_ternary(block + 48, 4, k, out->w + 112 + 4 * k);
    }
}
