/* Q1_0, 128 values: f16 d; u8 qs[16]. Value i is d where bit i mod 8 of qs[i / 8] is set, else -d.
 */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q1_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    (void)part;
    out->d = vv_load_half(block);
    for (int k = 0; k < 8; k++) {
        vv_words16 set;
        vv_spread_bits(vv_load16(block + 2 + 2 * k), &set);
        out->scale[k] = 1;
        out->group[k] = (set & 2) - 1;
    }
}
