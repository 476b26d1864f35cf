/* Q5_K, 256 values: f16 d, f16 dmin; u8 B[12]; u8 qh[32]; u8 qs[128]. As Q4_K, with a fifth bit:
 * bit k of qh[l] for value l of group k. */
#pragma once
#include "quant/q4_k.h"

VV_INLINE void vv_unpack_q5_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *qh = block + 16, *qs = block + 48 + 64 * part;
    out->d = vv_load_half(block);
    out->dmin = vv_load_half(block + 2);
    vv_unpack_k_scales(block + 4, part, out);
    for (int l = 0; l < 2; l++) {
        vv_words16 high;
        vv_load_words(qh + 16 * l, &high);
        high = high >> 4 * (int)part << 4; /* the fifth bits of this half's groups at 4 .. 7 */
        for (int c = 0; c < 2; c++, high >>= 2) {
            vv_words16 q;
            vv_load_words(qs + 32 * c + 16 * l, &q);
            out->group[4 * c + l] = (q & 15) | (high & 16);
            out->group[4 * c + 2 + l] = q >> 4 | (high >> 1 & 16);
        }
    }
}
