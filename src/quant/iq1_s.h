/*
 * IQ1_S, 256 values: f16 d; u8 q[32]; u16 qh[8]. Each 8 values: a row of the grid, its high three
 * bits in qh; each 32: sub-scale s in bits 12..14 of qh, and bit 15, the sign of a shift by 1/8.
 * Value d * (2 s + 1) / 8 * (8 grid + 1 or - 1).
 */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_shifted8(const int8_t *grid /* [8] */, int shift, int16_t *w /* [8] */) {
    for (int j = 0; j < 8; j++) {
        w[j] = (int16_t)(8 * grid[j] + shift);
    }
}

VV_INLINE void vv_unpack_iq1_s(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 16 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (size_t k = 0; k < 4; k++, q += 4) {
        int qh = vv_load16(block + 34 + 8 * part + 2 * k);
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)(2 * (qh >> 12 & 7) + 1);
        for (size_t r = 0; r < 4; r++) {
            int row = q[r] | (qh >> 3 * r & 7) << 8;
            vv_unpack_shifted8(vv_iq1s_grid[row], qh & 0x8000 ? -1 : 1, out->w + 32 * k + 8 * r);
        }
    }
}
