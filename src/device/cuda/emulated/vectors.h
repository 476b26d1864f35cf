/* CUDA's vector types, aligned as there: a load through a misaligned pointer is an error on both.
 */
#pragma once
#include "keywords.h"

#define VV_VECTORS(name, type, align2, align4)                                                     \
    struct name##1 {                                                                               \
        type x;                                                                                    \
    };                                                                                             \
    struct alignas(align2) name##2 {                                                               \
        type x, y;                                                                                 \
    };                                                                                             \
    struct name##3 {                                                                               \
        type x, y, z;                                                                              \
    };                                                                                             \
    struct alignas(align4) name##4 {                                                               \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    inline name##1 make_##name##1(type x) {                                                        \
        return {x};                                                                                \
    }                                                                                              \
    inline name##2 make_##name##2(type x, type y) {                                                \
        return {x, y};                                                                             \
    }                                                                                              \
    inline name##3 make_##name##3(type x, type y, type z) {                                        \
        return {x, y, z};                                                                          \
    }                                                                                              \
    inline name##4 make_##name##4(type x, type y, type z, type w) {                                \
        return {x, y, z, w};                                                                       \
    }

VV_VECTORS(char, signed char, 2, 4)
VV_VECTORS(uchar, unsigned char, 2, 4)
VV_VECTORS(short, short, 4, 8)
VV_VECTORS(ushort, unsigned short, 4, 8)
VV_VECTORS(int, int, 8, 16)
VV_VECTORS(uint, unsigned, 8, 16)
VV_VECTORS(longlong, long long, 16, 16)
VV_VECTORS(ulonglong, unsigned long long, 16, 16)
VV_VECTORS(float, float, 8, 16)
VV_VECTORS(double, double, 16, 16)
#undef VV_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned across = 1, unsigned down = 1, unsigned deep = 1)
        : x(across), y(down), z(deep) {
    }
    constexpr dim3(uint3 of) : x(of.x), y(of.y), z(of.z) {
    }
};
