/* IQ3_XXS, 256 values: f16 d; u8 q[64]; u32 rest[8]. Each 4 values: a row of the grid; each 32:
 * four sign indices of 7 bits, sub-scale s in bits 28..31 of rest. Value d * (2 s + 1) / 4 * grid.
 */
#pragma once
#include "quant/iq2_xxs.h"

VV_INLINE void vv_unpack_iq3_xxs(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 32 * part;
    out->d = vv_load_half(block) * 0.25f;
    for (size_t k = 0; k < 4; k++, q += 8) {
        uint32_t rest = vv_load32(block + 66 + 16 * part + 4 * k);
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)(2 * (rest >> 28) + 1);
        for (size_t r = 0; r < 2; r++, rest >>= 14) {
            vv_bytes16 grid = vv_four(vv_iq3xxs_grid[q[4 * r]], vv_iq3xxs_grid[q[4 * r + 1]],
                                      vv_iq3xxs_grid[q[4 * r + 2]], vv_iq3xxs_grid[q[4 * r + 3]]);
            vv_give_signs(grid, vv_pair_of_signs(rest), &out->group[2 * k + r]);
        }
    }
}
