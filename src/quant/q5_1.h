/* Q5_1, 32 values: f16 d, f16 m; u32 qh; u8 qs[16]. Codes as in Q5_0; value d * n + m. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q5_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    uint8_t n[32];
    uint32_t fifth = vv_load32(block + 4);
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    out->step_m[part] = vv_load_half(block + 2);
    vv_nibbles(block + 8, n);
    for (int i = 0; i < 32; i++) {
        w[i] = (int16_t)(n[i] | (fifth >> i & 1) << 4);
    }
}
