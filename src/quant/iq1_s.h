/*
 * IQ1_S, 256 values: f16 d; u8 q[32]; u16 qh[8]. Each 8 values: a row of the grid, its high three
 * bits in qh; each 32: sub-scale s in bits 12..14 of qh, and bit 15, the sign of a shift by 1/8.
 * Value d * (2 s + 1) / 8 * (8 grid + 1 or - 1).
 */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"
#include <stdbool.h>

/* 8 grid + 1, or - 1 where told so, of two rows of eight. */
VV_INLINE void vv_shift_grid(const int8_t *first /* [8] */, bool first_down,
                             const int8_t *second /* [8] */, bool second_down, vv_words16 *to) {
    vv_words16 grid, down;
    vv_widen_signed(vv_pair(first, second), &grid);
    vv_spread_bits((uint16_t)((first_down ? 0x00ff : 0) | (second_down ? 0xff00 : 0)), &down);
    *to = grid * 8 + ((down & -2) + 1);
}

VV_INLINE void vv_unpack_iq1_s(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 2 + 16 * part;
    out->d = vv_load_half(block) * 0.125f;
    for (size_t k = 0; k < 4; k++, q += 4) {
        int qh = vv_load16(block + 34 + 8 * part + 2 * k);
        bool down = qh & 0x8000;
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)(2 * (qh >> 12 & 7) + 1);
        vv_shift_grid(vv_iq1s_grid[q[0] | (qh & 7) << 8], down,
                      vv_iq1s_grid[q[1] | (qh >> 3 & 7) << 8], down, &out->group[2 * k]);
        vv_shift_grid(vv_iq1s_grid[q[2] | (qh >> 6 & 7) << 8], down,
                      vv_iq1s_grid[q[3] | (qh >> 9 & 7) << 8], down, &out->group[2 * k + 1]);
    }
}
