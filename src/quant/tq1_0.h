/*
 * TQ1_0, 256 values: u8 qs[48], qh[4]; f16 d. A byte holds five ternary digits as a fraction of
 * 256, most significant first (qh: four): digit k of byte b is floor(3 * (b * 3^k mod 256) / 256),
 * the value d * (digit - 1). Digits k of the first 32 bytes are values 32 k and up; of the next 16
 * bytes values 160 + 16 k and up; of qh values 240 + 4 k and up.
 */
#pragma once
#include "quant/bits.h"

/* Sixteen digits: which third of 256 the bytes, times a power of three, lie in. */
VV_INLINE void vv_store_digits(const vv_words16 *bytes, const vv_words16 *power, vv_words16 *to) {
    *to = ((*bytes * *power & 255) * 3 >> 8) - 1;
}

VV_INLINE void vv_unpack_tq1_0(const uint8_t *block, size_t part, struct vv_segment *out) {
    const vv_words16 one = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const vv_words16 mixed = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
    const vv_words16 power[5] = {one, one * 3, one * 9, one * 27, one * 81};
    const int8_t *qh = (const int8_t *)block + 48;
    vv_words16 a, b, c, d;
    vv_load_words(block, &a);
    vv_load_words(block + 16, &b);
    vv_load_words(block + 32, &c);
    vv_widen_unsigned(vv_four(qh, qh, qh, qh), &d);
    out->d = vv_load_half(block + 52);
    for (int k = 0; k < 8; k++) {
        out->scale[k] = 1;
    }
    if (part == 0) {
        for (int k = 0; k < 4; k++) {
            vv_store_digits(&a, &power[k], &out->group[2 * k]);
            vv_store_digits(&b, &power[k], &out->group[2 * k + 1]);
        }
        return;
    }
    vv_store_digits(&a, &power[4], &out->group[0]);
    vv_store_digits(&b, &power[4], &out->group[1]);
    for (int k = 0; k < 5; k++) {
        vv_store_digits(&c, &power[k], &out->group[2 + k]);
    }
    vv_store_digits(&d, &mixed, &out->group[7]);
}
