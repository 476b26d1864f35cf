/* Q8_0, 32 values: f16 d; i8 q[32]. Value d * q. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q8_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    const int8_t *q = (const int8_t *)block + 2;
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    for (int i = 0; i < 32; i++) {
        w[i] = q[i];
    }
}
