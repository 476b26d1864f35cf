/* Q8_K, 256 values: f32 d; i8 q[256]; i16 sums of 16. Value d * q; the sums are not looked at. */
#pragma once
#include "quant/bits.h"

VV_INLINE void vv_unpack_q8_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *q = block + 4 + 128 * part;
    float d = vv_from_bits(vv_load32(block));
    for (int b = 0; b < 4; b++) {
        out->step_d[b] = d;
    }
    for (int k = 0; k < 8; k++) {
        vv_widen_signed(vv_load_bytes(q + 16 * k), &out->group[k]);
    }
}
