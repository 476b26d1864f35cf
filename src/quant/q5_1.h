/* Q5_1, 32 values: f16 d, f16 m; u32 qh; u8 qs[16]. Codes as in Q5_0; value d * n + m. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q5_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_words16 n, low, high;
    vv_load_words(block + 8, &n);
    vv_spread_bits(vv_load16(block + 4), &low);
    vv_spread_bits(vv_load16(block + 6), &high);
    out->step_d[part] = vv_load_half(block);
    out->step_m[part] = vv_load_half(block + 2);
    out->group[2 * part] = (n & 15) | (low & 16);
    out->group[2 * part + 1] = n >> 4 | (high & 16);
}
