/*
 * float16 and bfloat16 as bit patterns, to and from float. Widening is exact (denormals too);
 * narrowing rounds to nearest even, NaN stays NaN.
 */
#pragma once
#include "base/math.h"

VV_MATH float vv_from_bf16(uint16_t h) {
    return vv_from_bits((uint32_t)h << 16);
}

/* The exponent is moved by a product with a power of two, which is exact and serves denormals too;
 * infinity and NaN (exponent 31) are put together by hand. No branch, so that loops vectorise. */
VV_MATH float vv_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t finite = vv_bits(vv_from_bits(rest) * 0x1p+112f);
    return vv_from_bits(sign | ((h & 0x7c00u) == 0x7c00u ? rest | 0x7f800000u : finite));
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
