/* IQ2_S, 256 values: f16 d; u8 q[32]; u8 signs[32]; u8 qh[8]; u8 sc[8]. Each 8 values: a row of the
 * grid, its bits 8 and 9 in qh, and a byte of signs; each 16 a nibble s of sc. Value as IQ2_XS. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq2_s(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 16 * part, *signs = q + 32;
    const uint8_t *qh = block + 66 + 4 * part, *sc = block + 74 + 4 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (int k = 0; k < 8; k++) {
        out->scale[k] = (int16_t)(2 * (sc[k / 2] >> 4 * (k % 2) & 15) + 1);
    }
    for (int k = 0; k < 8; k++) {
        int high = qh[k / 2] >> 4 * (k % 2);
        vv_give_signs(vv_pair(vv_iq2s_grid[q[2 * k] | (high & 3) << 8],
                              vv_iq2s_grid[q[2 * k + 1] | (high & 12) << 6]),
                      vv_load16(signs + 2 * k), &out->group[k]);
    }
}
