/* IQ2_XXS, 256 values: f16 d; then for each 32 values u8 q[4] (rows of the grid, 8 values each) and a
 * u32: four sign indices of 7 bits, sub-scale s in bits 28..31. Value d * (2 s + 1) / 8 * grid. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq2_xxs(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *at = block + 2 + 32 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (int k = 0; k < 4; k++, at += 8) {
        uint32_t rest = vv_load32(at + 4);
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)(2 * (rest >> 28) + 1);
        for (int r = 0; r < 4; r++) {
            vv_sign8(vv_iq2xxs_grid[at[r]], vv_iq_signs[rest >> 7 * r & 127],
                     out->w + 32 * k + 8 * r);
        }
    }
}
