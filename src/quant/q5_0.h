/* Q5_0, 32 values: f16 d; u32 qh; u8 qs[16]. Nibbles as in Q4_0, the fifth bit of value i is bit i
 * of qh; value d * (n - 16). */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q5_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_words16 n, low, high;
    vv_load_words(block + 6, &n);
    vv_spread_bits(vv_load16(block + 2), &low);
    vv_spread_bits(vv_load16(block + 4), &high);
    out->step_d[part] = vv_load_half(block);
    out->group[2 * part] = ((n & 15) | (low & 16)) - 16;
    out->group[2 * part + 1] = (n >> 4 | (high & 16)) - 16;
}
