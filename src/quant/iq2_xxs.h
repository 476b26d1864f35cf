/* IQ2_XXS, 256 values: f16 d; then for each 32 values u8 q[4] (rows of the grid, 8 values each) and
 * a u32: four sign indices of 7 bits, sub-scale s in bits 28..31. Value d * (2 s + 1) / 8 * grid.
 */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

/* Sign bytes of two groups of eight from their indices, seven bits each. */
VV_INLINE uint32_t vv_pair_of_signs(uint32_t index) {
    return vv_iq_signs[index & 127] | (uint32_t)vv_iq_signs[index >> 7 & 127] << 8;
}

VV_INLINE void vv_unpack_iq2_xxs(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *at = block + 2 + 32 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (int k = 0; k < 4; k++, at += 8) {
        uint32_t rest = vv_load32(at + 4);
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)(2 * (rest >> 28) + 1);
        for (int r = 0; r < 2; r++, rest >>= 14) {
            vv_bytes16 grid = vv_pair(vv_iq2xxs_grid[at[2 * r]], vv_iq2xxs_grid[at[2 * r + 1]]);
            vv_give_signs(grid, vv_pair_of_signs(rest), &out->group[2 * k + r]);
        }
    }
}
