/* Q4_0, 32 values: f16 d; u8 qs[16]. Low nibbles are values 0..15, high ones 16..31; value
 * d * (n - 8). */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q4_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    uint8_t n[32];
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    vv_nibbles(block + 2, n);
    for (int i = 0; i < 32; i++) {
        w[i] = (int16_t)(n[i] - 8);
    }
}
