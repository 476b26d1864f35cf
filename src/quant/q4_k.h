/*
 * Q4_K, 256 values: f16 d, f16 dmin; u8 B[12]; u8 qs[128]. Group k of 32 values: chunk k / 2 of 32
 * bytes of qs, low nibbles for even k, high ones for odd k. Value d * scale * q - dmin * min.
 */
#pragma once
#include "quant/bits.h"

/* Sub-scales and minimums, six bits each, of one half of the groups: in the first half whole bytes
 * of B[0..3] and B[4..7]; in the second low four bits in B[8..11], high two at the top of the
 * first half's bytes. Q5_K has the same. */
VV_INLINE void vv_unpack_k_scales(const uint8_t *packed /* [12] */, size_t half,
                                  struct vv_segment *out) {
    uint32_t a = vv_load32(packed), b = vv_load32(packed + 4), c = vv_load32(packed + 8);
    if (half == 0) {
        vv_store_twice(a & 0x3f3f3f3fu, out->scale);
        vv_store_twice(b & 0x3f3f3f3fu, out->min);
    } else {
        vv_store_twice((c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u), out->scale);
        vv_store_twice((c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u), out->min);
    }
}

VV_INLINE void vv_unpack_q4_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *qs = block + 16 + 64 * part;
    out->d = vv_load_half(block);
    out->dmin = vv_load_half(block + 2);
    vv_unpack_k_scales(block + 4, part, out);
    for (int c = 0; c < 2; c++) {
        for (int l = 0; l < 2; l++) {
            vv_words16 q;
            vv_load_words(qs + 32 * c + 16 * l, &q);
            out->group[4 * c + l] = q & 15;
            out->group[4 * c + 2 + l] = q >> 4;
        }
    }
}
