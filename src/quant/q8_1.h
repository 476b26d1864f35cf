/* Q8_1, 32 values: f16 d, f16 s; i8 q[32]. Value d * q; s = d * sum of q is not looked at. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q8_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    out->step_d[part] = vv_load_half(block);
    vv_widen_signed(vv_load_bytes(block + 4), &out->group[2 * part]);
    vv_widen_signed(vv_load_bytes(block + 20), &out->group[2 * part + 1]);
}
