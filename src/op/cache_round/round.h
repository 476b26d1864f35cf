/*
 * For all kernels: who is rounded, where to, a block's scale and a value's code. A block is known
 * by its peak: the bits of its largest magnitude.
 */
#pragma once
#include "base/math.h"
#include "op/cache_round/contract.h"

enum { VV_FP8_BLOCK = 64, VV_FP4_BLOCK = 32, VV_FP4_BYTES = 17 /* of an MXFP4 block */ };

/* Whether the row's vector is rounded at all. */
VV_BOTH bool vv_completes(const struct vv_window *window, size_t row, size_t ratio) {
    return ((uint32_t)window->position[row] + 1) % (uint32_t)ratio == 0;
}

/* Where the blocks of a vector go. */
VV_BOTH uint8_t *vv_fp4_row(const struct vv_round_fp4 *a, size_t row, size_t head) {
    if (a->y) {
        return a->y + (row * a->heads + head) * (a->width / VV_FP4_BLOCK * VV_FP4_BYTES);
    }
    int64_t entry = ((int64_t)a->window->position[row] + 1) / (int64_t)a->ratio - 1;
    return (uint8_t *)vv_state_at(&a->to, a->window->slot[row], entry);
}

VV_MATH bool vv_round_refuses(uint32_t peak) {
    return peak >= 0x67800000u; /* 2^80 */
}

/* Exponent field of the scale: adding what is missing of a mantissa beyond the format's largest one
 * carries into the exponent. */
VV_MATH uint32_t vv_round_field(uint32_t peak, uint32_t least, uint32_t missing, uint32_t below) {
    return (((peak > least ? peak : least) + missing) >> 23) - below;
}

VV_MATH uint32_t vv_e4m3_field(uint32_t peak) {
    return vv_round_field(peak, 0x38d1b717u /* 1e-4 */, 0x1fffffu, 8);
}

VV_MATH uint32_t vv_e2m1_field(uint32_t peak) {
    return vv_round_field(peak, 0x01c00000u /* 6 * 2^-126 */, 0x3fffffu, 2);
}

/*
 * Steps of 2^(e - 3) for a magnitude in 2^e .. 2^(e + 1), of 2^-9 below 2^-6: a sum with 2^(e + 20)
 * has such steps itself, and rounds to nearest even.
 */
VV_MATH float vv_e4m3_round(float x, uint32_t field) {
    float s = vv_from_bits(field << 23), inverse = vv_from_bits((254 - field) << 23);
    uint32_t bits = vv_bits(x * inverse), magnitude = bits & 0x7fffffffu;
    uint32_t e = magnitude & 0x7f800000u, low = (127 - 6) << 23;
    float large = vv_from_bits((e > low ? e : low) + (20u << 23));
    float rounded = (vv_from_bits(magnitude) + large) - large;
    return s * vv_from_bits(vv_bits(rounded) | (bits & 0x80000000u));
}

/* Likewise: two codes for each power of two from 1 on, of steps of 2^(e - 1), which a sum with
 * 2^(e + 22) has; steps of 1/2 below. */
VV_MATH uint32_t vv_e2m1_code(float x, uint32_t field) {
    float v = fabsf(x) * vv_from_bits((254 - field) << 23);
    uint32_t e = vv_bits(v) & 0x7f800000u, one = 127u << 23;
    e = e > one ? e : one;
    uint32_t large = e + (22u << 23), steps = vv_bits(v + vv_from_bits(large)) - large;
    return steps + ((e - one) >> 22) + (vv_bits(x) >> 31) * 8;
}
