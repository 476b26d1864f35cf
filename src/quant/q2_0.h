/*
 * Q2_0, 64 values: f16 d; u8 qs[16]. Value i has bits 2 (i mod 4) and up of qs[i / 4]; value
 * d * (code - 1). A fork writes 128 values a block under the same id: f16 d; u8 qs[32].
 */
#pragma once
#include "quant/bits.h"

/* The codes of four bytes: each byte four times, shifted to the left by products, since words have
 * no shifts of their own in most vector units. */
VV_INLINE void vv_spread_codes(const uint8_t *qs /* [4] */, vv_words16 *to) {
    typedef uint64_t four __attribute__((vector_size(32)));
    const vv_words16 left = {64, 16, 4, 1, 64, 16, 4, 1, 64, 16, 4, 1, 64, 16, 4, 1};
    four v = {qs[0], qs[1], qs[2], qs[3]};
    v |= v << 16;
    v |= v << 32;
    *to = ((vv_words16)v * left >> 6 & 3) - 1;
}

VV_INLINE void vv_unpack_q2_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    out->step_d[2 * part] = out->step_d[2 * part + 1] = vv_load_half(block);
    for (size_t k = 0; k < 4; k++) {
        vv_spread_codes(block + 2 + 4 * k, &out->group[4 * part + k]);
    }
}

VV_INLINE void vv_unpack_q2_0_128(const uint8_t *block, size_t part, struct vv_segment *out) {
    (void)part;
    float d = vv_load_half(block);
    for (int b = 0; b < 4; b++) {
        out->step_d[b] = d;
    }
    for (int k = 0; k < 8; k++) {
        vv_spread_codes(block + 2 + 4 * k, &out->group[k]);
    }
}
