/* IQ4_NL, 32 values: f16 d; u8 qs[16]. Nibbles as in Q4_0; value d * table[n]. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq4_nl(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_bytes16 n = vv_load_bytes(block + 2);
    out->step_d[part] = vv_load_half(block);
    vv_look_up(vv_iq4nl_values, n & 15, &out->group[2 * part]);
    vv_look_up(vv_iq4nl_values, n >> 4, &out->group[2 * part + 1]);
}
