/*
 * float16 and bfloat16 as bit patterns, to and from float. Widening is exact (denormals too);
 * narrowing rounds to nearest even, NaN stays NaN.
 */
#pragma once
#include "base/math.h"

VV_MATH float vv_from_bf16(uint16_t h) {
    return vv_from_bits((uint32_t)h << 16);
}

/* Normal numbers, infinity and NaN by a sum on the exponent; denormals as the low bits of a number
 * near 1/2, from which 1/2 is taken: no operation on a denormal float, which is slow, and no
 * branch, so that loops vectorise. */
VV_MATH float vv_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t normal = rest + (rest >= 0x0f800000u ? 224u << 23 : 112u << 23);
    uint32_t denormal = vv_bits(vv_from_bits(0x3f000000u | (h & 0x3ffu)) - 0.5f);
    return vv_from_bits(sign | (rest < 0x00800000u ? denormal : normal));
}

VV_MATH uint16_t vv_to_bf16(float x) {
    uint32_t u = vv_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(u >> 16 | 0x40u);
    }
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

VV_MATH uint16_t vv_to_f16(float x) {
    uint32_t u = vv_bits(x), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
    }
    if (a >= 0x477ff000u) { /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (a < 0x38800000u) { /* below 2^-14: the sum's last bit is the half's denormal unit */
        return (uint16_t)(sign | (vv_bits(vv_from_bits(a) + 0.5f) - 0x3f000000u));
    }
    return (uint16_t)(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1)) >> 13));
}
