/* Q5_0, 32 values: f16 d; u32 qh; u8 qs[16]. Nibbles as in Q4_0, the fifth bit of value i is bit i
 * of qh; value d * (n - 16). */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q5_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    uint8_t n[32];
    uint32_t fifth = vv_load32(block + 2);
    int16_t *w = out->w + 32 * part;
    out->step_d[part] = vv_load_half(block);
    vv_nibbles(block + 6, n);
    for (int i = 0; i < 32; i++) {
        w[i] = (int16_t)((n[i] | (fifth >> i & 1) << 4) - 16);
    }
}
