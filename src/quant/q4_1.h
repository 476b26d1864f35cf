/* Q4_1, 32 values: f16 d, f16 m; u8 qs[16]. Nibbles as in Q4_0; value d * n + m. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q4_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    uint8_t n[32];
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    out->step_m[part] = vv_load_half(block + 2);
    vv_nibbles(block + 4, n);
    for (int i = 0; i < 32; i++) {
        w[i] = n[i];
    }
}
