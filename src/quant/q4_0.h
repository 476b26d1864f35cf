/* Q4_0, 32 values: f16 d; u8 qs[16]. Low nibbles are values 0..15, high ones 16..31; value
 * d * (n - 8). */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q4_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_words16 n;
    vv_load_words(block + 2, &n);
    out->step_d[part] = vv_load_half(block);
    out->group[2 * part] = (n & 15) - 8;
    out->group[2 * part + 1] = (n >> 4) - 8;
}
