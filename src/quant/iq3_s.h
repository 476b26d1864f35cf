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
    for (int k = 0; k < 8; k++, q += 4) {
        int high = qh[k / 2] >> 4 * (k % 2);
        vv_bytes16 grid =
            vv_four(vv_iq3s_grid[q[0] | (high & 1) << 8], vv_iq3s_grid[q[1] | (high & 2) << 7],
                    vv_iq3s_grid[q[2] | (high & 4) << 6], vv_iq3s_grid[q[3] | (high & 8) << 5]);
        vv_give_signs(grid, vv_load16(signs + 2 * k), &out->group[k]);
    }
}
