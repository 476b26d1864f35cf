/* IQ3_S, 256 values: f16 d; u8 q[64]; u8 qh[8]; u8 signs[32]; u8 sc[4]. Each 4 values: a row of the
 * grid, its bit 8 in qh; each 8 a byte of signs; each 32 a nibble s of sc. Value d * (2 s + 1) *
 * grid. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq3_s(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 32 * part, *qh = block + 66 + 4 * part;
    const uint8_t *signs = block + 74 + 16 * part, *sc = block + 106 + 2 * part;
    out->d = vv_load_half(block);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = (int16_t)(2 * (sc[k / 4] >> 4 * (k / 2 % 2) & 15) + 1);
    }
    for (int i = 0; i < 16; i++) {
        int8_t grid[8];
        int high = qh[i / 4] >> 2 * (i % 4);
        memcpy(grid, vv_iq3s_grid[q[2 * i] | (high & 1) << 8], 4);
        memcpy(grid + 4, vv_iq3s_grid[q[2 * i + 1] | (high >> 1 & 1) << 8], 4);
        vv_sign8(grid, signs[i], out->w + 8 * i);
    }
}
