/* CUDA's half: conversions round to nearest even, widening is exact. */
#pragma once
#include "numbers.h"

struct __half_raw {
    unsigned short x;
};

namespace vv_emulated {

/* A format with `fraction` bits below the leading one and `bias`, in 16 bits. */
template <int fraction, int bias> struct small_float {
    static float widen(unsigned short bits) {
        int field = bits >> fraction & ((1 << (15 - fraction)) - 1),
            top = (1 << (15 - fraction)) - 1;
        int low = bits & ((1 << fraction) - 1);
        float sign = bits & 0x8000 ? -1.0f : 1.0f;
        if (field == top) {
            return low ? __uint_as_float(0x7fc00000u | static_cast<unsigned>(low)
                                                           << (23 - fraction))
                       : sign * __builtin_inff();
        }
        int significand = field ? low | 1 << fraction : low;
        return sign *
               std::ldexp(static_cast<float>(significand), (field ? field : 1) - bias - fraction);
    }
    static unsigned short narrow(float x) {
        unsigned sign = __float_as_uint(x) >> 16 & 0x8000u, top = (1u << (15 - fraction)) - 1;
        double size = std::fabs(static_cast<double>(x));
        if (x != x) {
            return 0x7fff;
        }
        int exponent = size > 0 ? std::ilogb(size) : 1 - bias;
        exponent = exponent < 1 - bias ? 1 - bias : exponent;
        /* In units of the last place; a carry moves on into the exponent. */
        double units = size < HUGE_VAL ? std::nearbyint(std::ldexp(size, fraction - exponent)) : 0;
        unsigned magnitude =
            static_cast<unsigned>(units) + (static_cast<unsigned>(exponent + bias - 1) << fraction);
        bool infinite = size == HUGE_VAL || exponent > bias || magnitude > top << fraction;
        return static_cast<unsigned short>(sign | (infinite ? top << fraction : magnitude));
    }
};
using half_format = small_float<10, 15>;
using brain_format = small_float<7, 127>;

} // namespace vv_emulated

struct __half {
    unsigned short bits;
    __half() = default;
    __half(__half_raw of) : bits(of.x) {
    }
    __half(float x) : bits(vv_emulated::half_format::narrow(x)) {
    }
    operator float() const {
        return vv_emulated::half_format::widen(bits);
    }
    operator __half_raw() const {
        return {bits};
    }
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

inline __half __ushort_as_half(unsigned short bits) {
    return __half_raw{bits};
}
inline unsigned short __half_as_ushort(__half x) {
    return x.bits;
}
inline float __half2float(__half x) {
    return x;
}
inline __half __float2half_rn(float x) {
    return x;
}
inline __half __float2half(float x) {
    return x;
}
inline __half2 __halves2half2(__half x, __half y) {
    return {x, y};
}
inline __half2 __floats2half2_rn(float x, float y) {
    return {x, y};
}
inline __half2 __float22half2_rn(float2 x) {
    return {x.x, x.y};
}
inline float2 __half22float2(__half2 x) {
    return {x.x, x.y};
}
inline __half __low2half(__half2 x) {
    return x.x;
}
inline __half __high2half(__half2 x) {
    return x.y;
}
inline float __low2float(__half2 x) {
    return x.x;
}
inline float __high2float(__half2 x) {
    return x.y;
}
