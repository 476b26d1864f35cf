/* Q8_0, 32 values: f16 d; i8 q[32]. Value d * q. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q8_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    out->step_d[part] = vv_load_half(block);
    vv_widen_signed(vv_load_bytes(block + 2), &out->group[2 * part]);
    vv_widen_signed(vv_load_bytes(block + 18), &out->group[2 * part + 1]);
}
