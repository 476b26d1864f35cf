/* Q5_K, 256 values: f16 d, f16 dmin; u8 B[12]; u8 qh[32]; u8 qs[128]. As Q4_K, with a fifth bit: bit
 * k of qh[l] for value l of group k. */
#pragma once
#include "quant/q4_k.h"

VV_INLINE void vv_unpack_q5_k(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *qh = block + 16, *qs = block + 48 + 64 * part;
    out->d = vv_load_half(block);
    out->dmin = vv_load_half(block + 2);
    vv_unpack_k_scales(block + 4, part, out);
    for (int c = 0; c < 2; c++) {
        for (int l = 0; l < 32; l++) {
            int high = qh[l] >> (4 * (int)part + 2 * c);
            out->w[64 * c + l] = (int16_t)((qs[32 * c + l] & 15) | (high & 1) << 4);
            out->w[64 * c + 32 + l] = (int16_t)(qs[32 * c + l] >> 4 | (high >> 1 & 1) << 4);
        }
    }
}
