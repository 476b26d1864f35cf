/*
 * IQ1_M, 256 values: u8 q[32]; u8 qh[16]; u16 sc[4]. The f16 d is spread over the top nibbles of
 * sc; each 16 values have three bits s below them. Each 8: a nibble of qh, high three bits of the
 * row of IQ1_S's grid and the sign of the shift by 1/8. Value as IQ1_S.
 */
#pragma once
#include "quant/iq1_s.h"

VV_INLINE void vv_unpack_iq1_m(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 16 * part, *qh = block + 32 + 8 * part, *sc = block + 48;
    uint16_t d = 0;
    for (int i = 0; i < 4; i++) {
        d = (uint16_t)(d | vv_load16(sc + 2 * i) >> 12 << 4 * i);
    }
    out->d = vv_from_f16(d) * 0.125f;
    for (size_t k = 0; k < 8; k++) {
        int s = vv_load16(sc + 4 * part + k / 4 * 2) >> 3 * (k % 4) & 7;
        out->scale[k] = (int16_t)(2 * s + 1);
    }
    for (int k = 0; k < 8; k++) {
        vv_shift_grid(vv_iq1s_grid[q[2 * k] | (qh[k] & 7) << 8], qh[k] & 8,
                      vv_iq1s_grid[q[2 * k + 1] | (qh[k] >> 4 & 7) << 8], qh[k] & 128,
                      &out->group[k]);
    }
}
