/* IQ4_NL, 32 values: f16 d; u8 qs[16]. Nibbles as in Q4_0; value d * table[n]. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq4_nl(const uint8_t *block, size_t part, struct vv_segment *out) {
    uint8_t n[32];
    out->step_d[part] = vv_load_half(block);
    vv_nibbles(block + 2, n);
    vv_look_up(vv_iq4nl_values, n, out->w + 32 * part);
}
