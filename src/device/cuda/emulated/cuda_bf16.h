/* CUDA's bfloat16: conversions round to nearest even, widening is exact. */
#pragma once
#include "cuda_fp16.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(__nv_bfloat16_raw of) : bits(of.x) {
    }
    __nv_bfloat16(float x) : bits(vv_emulated::brain_format::narrow(x)) {
    }
    operator float() const {
        return vv_emulated::brain_format::widen(bits);
    }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    return __nv_bfloat16_raw{bits};
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
    return x.bits;
}
inline float __bfloat162float(__nv_bfloat16 x) {
    return x;
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    return x;
}
inline __nv_bfloat16 __float2bfloat16(float x) {
    return x;
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {x, y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 x) {
    return {x.x, x.y};
}
