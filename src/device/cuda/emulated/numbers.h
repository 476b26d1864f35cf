/* CUDA's functions of numbers: bits, four bytes at once, conversions, rounded arithmetic. */
#pragma once
#include "block.h"
#include <climits>

#define VV_NUMBER inline __attribute__((always_inline))

VV_NUMBER int min(int a, int b) {
    return a < b ? a : b;
}
VV_NUMBER int max(int a, int b) {
    return a > b ? a : b;
}
VV_NUMBER unsigned min(unsigned a, unsigned b) {
    return a < b ? a : b;
}
VV_NUMBER unsigned max(unsigned a, unsigned b) {
    return a > b ? a : b;
}
VV_NUMBER long min(long a, long b) {
    return a < b ? a : b;
}
VV_NUMBER long max(long a, long b) {
    return a > b ? a : b;
}
VV_NUMBER unsigned long min(unsigned long a, unsigned long b) {
    return a < b ? a : b;
}
VV_NUMBER unsigned long max(unsigned long a, unsigned long b) {
    return a > b ? a : b;
}
VV_NUMBER long long min(long long a, long long b) {
    return a < b ? a : b;
}
VV_NUMBER long long max(long long a, long long b) {
    return a > b ? a : b;
}
VV_NUMBER unsigned long long min(unsigned long long a, unsigned long long b) {
    return a < b ? a : b;
}
VV_NUMBER unsigned long long max(unsigned long long a, unsigned long long b) {
    return a > b ? a : b;
}
VV_NUMBER float min(float a, float b) {
    return fminf(a, b);
}
VV_NUMBER float max(float a, float b) {
    return fmaxf(a, b);
}

/* Bits as they are. */
namespace vv_emulated {
template <class To, class From> VV_NUMBER To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}
} // namespace vv_emulated
VV_NUMBER int __float_as_int(float x) {
    return vv_emulated::bits_as<int>(x);
}
VV_NUMBER unsigned __float_as_uint(float x) {
    return vv_emulated::bits_as<unsigned>(x);
}
VV_NUMBER float __int_as_float(int x) {
    return vv_emulated::bits_as<float>(x);
}
VV_NUMBER float __uint_as_float(unsigned x) {
    return vv_emulated::bits_as<float>(x);
}
VV_NUMBER long long __double_as_longlong(double x) {
    return vv_emulated::bits_as<long long>(x);
}
VV_NUMBER double __longlong_as_double(long long x) {
    return vv_emulated::bits_as<double>(x);
}

/* Arithmetic rounded to nearest even, which -ffp-contract=off leaves to each operation. */
VV_NUMBER float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
VV_NUMBER double __fma_rn(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
VV_NUMBER float __fadd_rn(float a, float b) {
    return a + b;
}
VV_NUMBER float __fsub_rn(float a, float b) {
    return a - b;
}
VV_NUMBER float __fmul_rn(float a, float b) {
    return a * b;
}
VV_NUMBER float __fdiv_rn(float a, float b) {
    return a / b;
}
VV_NUMBER float __fsqrt_rn(float a) {
    return __builtin_sqrtf(a);
}
VV_NUMBER float __frcp_rn(float a) {
    return 1.0f / a;
}
VV_NUMBER double __dadd_rn(double a, double b) {
    return a + b;
}
VV_NUMBER double __dmul_rn(double a, double b) {
    return a * b;
}
VV_NUMBER float __int2float_rn(int x) {
    return static_cast<float>(x);
}
VV_NUMBER float __uint2float_rn(unsigned x) {
    return static_cast<float>(x);
}
VV_NUMBER float __ll2float_rn(long long x) {
    return static_cast<float>(x);
}
VV_NUMBER double __int2double_rn(int x) {
    return x;
}
VV_NUMBER float __double2float_rn(double x) {
    return static_cast<float>(x);
}
/* To an integer: what is too large becomes the largest or smallest, NaN becomes 0. */
VV_NUMBER int __float2int_rz(float x) {
    return x != x ? 0 : x >= 0x1p31f ? INT_MAX : x <= -0x1p31f ? INT_MIN : static_cast<int>(x);
}
VV_NUMBER int __float2int_rn(float x) {
    return __float2int_rz(__builtin_nearbyintf(x));
}
VV_NUMBER int __float2int_rd(float x) {
    return __float2int_rz(__builtin_floorf(x));
}
VV_NUMBER unsigned __float2uint_rz(float x) {
    return !(x > 0) ? 0 : x >= 0x1p32f ? UINT_MAX : static_cast<unsigned>(x);
}
VV_NUMBER unsigned __float2uint_rn(float x) {
    return __float2uint_rz(__builtin_nearbyintf(x));
}

/* Bits. */
VV_NUMBER int __popc(unsigned x) {
    return __builtin_popcount(x);
}
VV_NUMBER int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
VV_NUMBER int __clz(int x) {
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
VV_NUMBER int __clzll(long long x) {
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
VV_NUMBER int __ffs(int x) {
    return __builtin_ffs(x);
}
VV_NUMBER int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
VV_NUMBER unsigned __brev(unsigned x) {
    unsigned turned = 0;
    for (int i = 0; i < 32; i++, x >>= 1) {
        turned = turned << 1 | (x & 1);
    }
    return turned;
}
VV_NUMBER unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>(both << (by & 31) >> 32);
}
VV_NUMBER unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>(both >> (by & 31));
}
VV_NUMBER unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
VV_NUMBER int __mulhi(int a, int b) {
    return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
VV_NUMBER unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
/* Four of the eight bytes of `a` and `b`; the selector's top bit spreads the sign of its byte. */
VV_NUMBER unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    unsigned chosen = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned which = selector >> 4 * i & 15;
        unsigned byte = static_cast<unsigned>(both >> 8 * (which & 7)) & 0xff;
        chosen |= (which & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;
    }
    return chosen;
}

/* Four bytes at once: lane(i) of an operand, and a word of four results. */
namespace vv_emulated {
VV_NUMBER int signed_byte(unsigned word, unsigned i) {
    return static_cast<signed char>(word >> 8 * i & 0xff);
}
VV_NUMBER int unsigned_byte(unsigned word, unsigned i) {
    return static_cast<int>(word >> 8 * i & 0xff);
}
VV_NUMBER int clamp(int x, int low, int high) {
    return x < low ? low : x > high ? high : x;
}
} // namespace vv_emulated

#define VV_BYTES(name, expression)                                                                 \
    VV_NUMBER unsigned name(unsigned left, unsigned right) {                                       \
        unsigned result = 0;                                                                       \
        for (unsigned i = 0; i < 4; i++) {                                                         \
            int sa = vv_emulated::signed_byte(left, i), sb = vv_emulated::signed_byte(right, i);   \
            int ua = vv_emulated::unsigned_byte(left, i),                                          \
                ub = vv_emulated::unsigned_byte(right, i);                                         \
            (void)sa, (void)sb, (void)ua, (void)ub;                                                \
            result |= (static_cast<unsigned>(expression) & 0xff) << 8 * i;                         \
        }                                                                                          \
        return result;                                                                             \
    }
VV_BYTES(__vadd4, ua + ub)
VV_BYTES(__vsub4, ua - ub)
VV_BYTES(__vaddss4, vv_emulated::clamp(sa + sb, -128, 127))
VV_BYTES(__vsubss4, vv_emulated::clamp(sa - sb, -128, 127))
VV_BYTES(__vaddus4, vv_emulated::clamp(ua + ub, 0, 255))
VV_BYTES(__vsubus4, vv_emulated::clamp(ua - ub, 0, 255))
VV_BYTES(__vabsdiffu4, ua > ub ? ua - ub : ub - ua)
VV_BYTES(__vabsdiffs4, sa > sb ? sa - sb : sb - sa)
VV_BYTES(__vmaxs4, sa > sb ? sa : sb)
VV_BYTES(__vmaxu4, ua > ub ? ua : ub)
VV_BYTES(__vmins4, sa < sb ? sa : sb)
VV_BYTES(__vminu4, ua < ub ? ua : ub)
VV_BYTES(__vcmpeq4, ua == ub ? 0xff : 0)
VV_BYTES(__vcmpne4, ua != ub ? 0xff : 0)
VV_BYTES(__vcmpgtu4, ua > ub ? 0xff : 0)
VV_BYTES(__vcmpgeu4, ua >= ub ? 0xff : 0)
VV_BYTES(__vcmpgts4, sa > sb ? 0xff : 0)
VV_BYTES(__vcmpges4, sa >= sb ? 0xff : 0)
#undef VV_BYTES
VV_NUMBER unsigned __vneg4(unsigned x) {
    return __vsub4(0, x);
}
VV_NUMBER unsigned __vabs4(unsigned x) {
    return __vabsdiffs4(x, 0);
}

VV_NUMBER int __dp4a(int a, int b, int sum) {
    unsigned total = static_cast<unsigned>(sum); /* wraps, as there */
    for (unsigned i = 0; i < 4; i++) {
        total += static_cast<unsigned>(vv_emulated::signed_byte(static_cast<unsigned>(a), i) *
                                       vv_emulated::signed_byte(static_cast<unsigned>(b), i));
    }
    return static_cast<int>(total);
}
VV_NUMBER unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (unsigned i = 0; i < 4; i++) {
        sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    }
    return sum;
}
VV_NUMBER int __dp4a(char4 a, char4 b, int sum) {
    return __dp4a(vv_emulated::bits_as<int>(a), vv_emulated::bits_as<int>(b), sum);
}
VV_NUMBER unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
    return __dp4a(vv_emulated::bits_as<unsigned>(a), vv_emulated::bits_as<unsigned>(b), sum);
}

/* Loads and stores with a hint to the caches. */
#define VV_LOAD(name)                                                                              \
    template <class T> VV_NUMBER T name(const T *at) {                                             \
        return *at;                                                                                \
    }
#define VV_STORE(name)                                                                             \
    template <class T> VV_NUMBER void name(T *at, T value) {                                       \
        *at = value;                                                                               \
    }
VV_LOAD(__ldg)
VV_LOAD(__ldcg)
VV_LOAD(__ldca)
VV_LOAD(__ldcs)
VV_LOAD(__ldlu)
VV_LOAD(__ldcv)
VV_STORE(__stwb)
VV_STORE(__stcg)
VV_STORE(__stcs)
VV_STORE(__stwt)
#undef VV_LOAD
#undef VV_STORE
#undef VV_NUMBER

[[noreturn]] inline void __trap() {
    vv_emulated::fail("calls __trap");
}
inline long long clock64() {
    return 0;
}
