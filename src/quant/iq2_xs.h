/* IQ2_XS, 256 values: f16 d; u16 q[32]; u8 sc[8]. Each 8 values: row q & 511 of the grid, sign
 * index q >> 9; each 16 a nibble s of sc. Value d * (2 s + 1) / 8 * grid. */
#pragma once
#include "quant/iq2_xxs.h"

VV_INLINE void vv_unpack_iq2_xs(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 32 * part, *sc = block + 66 + 4 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (int k = 0; k < 8; k++) {
        out->scale[k] = (int16_t)(2 * (sc[k / 2] >> 4 * (k % 2) & 15) + 1);
    }
    for (int k = 0; k < 8; k++) {
        uint32_t a = vv_load16(q + 4 * k), b = vv_load16(q + 4 * k + 2);
        vv_give_signs(vv_pair(vv_iq2xs_grid[a & 511], vv_iq2xs_grid[b & 511]),
                      vv_pair_of_signs(a >> 9 | b >> 9 << 7), &out->group[k]);
    }
}
