/* Q8_1, 32 values: f16 d, f16 s; i8 q[32]. Value d * q; s = d * sum of q is not looked at. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q8_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    const int8_t *q = (const int8_t *)block + 4;
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    for (int i = 0; i < 32; i++) {
        w[i] = q[i];
    }
}
