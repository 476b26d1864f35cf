/* Q4_1, 32 values: f16 d, f16 m; u8 qs[16]. Nibbles as in Q4_0; value d * n + m. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q4_1(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_words16 n;
    vv_load_words(block + 4, &n);
    out->step_d[part] = vv_load_half(block);
    out->step_m[part] = vv_load_half(block + 2);
    out->group[2 * part] = n & 15;
    out->group[2 * part + 1] = n >> 4;
}
