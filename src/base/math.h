/*
 * The elementwise functions of the arithmetic contract (docs/arithmetic.md, section 7): one source
 * for CPUs and GPUs, no tables, no libm. Every written operation rounds once; fma is where it is
 * written and nowhere else, so this file is compiled with contraction off.
 *
 * Errors given below are the largest ones against double precision over the stated range.
 */
#pragma once
#include "base/both.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define VV_MATH VV_BOTH

VV_MATH uint32_t vv_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

VV_MATH float vv_from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/*
 * e^x, every result, denormal ones too: 1.01 ulp. n = round(x / ln 2); r = x - n ln 2 in two steps,
 * the first exact; a polynomial; then two exact scalings of which only the last can round. No
 * branch, so that loops vectorise: beyond either end the formula itself gives infinity and +0, and
 * a NaN passes through. n is the low bits of the number that rounding it left.
 */
VV_MATH float vv_exp(float x) {
    float y = x > 88.8f ? 88.8f : x;
    y = y < -104.0f ? -104.0f : y;
    float z = fmaf(y, 0x1.715476p+0f, 0x1.8p+23f), n = z - 0x1.8p+23f;
    float r = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, y));
    float q = 0x1.6a23d0p-10f;
    q = fmaf(q, r, 0x1.123a20p-7f);
    q = fmaf(q, r, 0x1.5558f2p-5f);
    q = fmaf(q, r, 0x1.555492p-3f);
    q = fmaf(q, r, 0x1.fffffcp-2f);
    float e = 1.0f + fmaf(r * r, q, r);
    uint32_t k = vv_bits(z) - 0x4b400000u, half = ((k + 256) >> 1) - 128; /* floor(k / 2) */
    return e * vv_from_bits((half + 127) << 23) * vv_from_bits((k - half + 127) << 23);
}

/* 2 atanh(s) without its first term, over s: the odd series that log1p_unit and log share. */
VV_MATH float vv_log_series(float w) {
    float p = 0x1.f1aee2p-3f;
    p = fmaf(p, w, 0x1.b6d6a4p-3f);
    p = fmaf(p, w, 0x1.250972p-2f);
    p = fmaf(p, w, 0x1.9996a8p-2f);
    return fmaf(p, w, 0x1.555558p-1f);
}

/* ln(1 + t), 0 <= t <= 1: 1.97 ulp. */
VV_MATH float vv_log1p_unit(float t) {
    float s = t / (2.0f + t), w = s * s;
    return fmaf(s * w, vv_log_series(w), s + s);
}

/* ln x, x > 0: 0.87 ulp. x = m 2^k with m in [sqrt 1/2, sqrt 2); the small correction is added to
 * an exact m - 1. Zero gives -infinity, a negative x NaN. */
VV_MATH float vv_log(float x) {
    if (!(x > 0.0f)) {
        return x == 0.0f ? vv_from_bits(0xff800000u) : vv_from_bits(0x7fc00000u);
    }
    if (vv_bits(x) == 0x7f800000u) {
        return x;
    }
    int32_t k = 0;
    if (x < 0x1p-126f) {
        x *= 0x1p+24f;
        k = -24;
    }
    int32_t u = (int32_t)vv_bits(x), e = (u - 0x3f3504f3) >> 23; /* floor(log2(x / sqrt 1/2)) */
    k += e;
    float t = vv_from_bits((uint32_t)(u - e * (1 << 23))) - 1.0f, s = t / (2.0f + t), w = s * s;
    float half = 0.5f * (t * t);
    float c = fmaf(-s, fmaf(w, vv_log_series(w), half), half), n = (float)k;
    return fmaf(n, 0x1.62e4p-1f, t - fmaf(-n, 0x1.7f7d1cp-20f, c));
}

/* 1 / (1 + e^-x): 2.41 ulp for -87.3 <= x <= 89. */
VV_MATH float vv_sigmoid(float x) {
    float e = vv_exp(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* x sigmoid(x): 3.20 ulp for -87.3 <= x <= 89. */
VV_MATH float vv_silu(float x) {
    return x * vv_sigmoid(x);
}

/* silu(gate) up, both cut at a limit first, the gate from above alone; INFINITY: no limit. NaN
 * stays. */
VV_MATH float vv_gated(float gate, float up, float limit) {
    gate = gate > limit ? limit : gate;
    up = up > limit ? limit : up;
    up = up < -limit ? -limit : up;
    return vv_silu(gate) * up;
}

/* A limit as operations give it, where 0 is none. */
VV_MATH float vv_limit(float limit) {
    return limit > 0.0f ? limit : INFINITY;
}

/* ln(1 + e^x): 2.80 ulp for -87.3 <= x <= 89; needs no cut for large x. */
VV_MATH float vv_softplus(float x) {
    return fmaxf(x, 0.0f) + vv_log1p_unit(vv_exp(-fabsf(x)));
}

/*
 * Sine and cosine of `turn` / 2^64 of a full turn: 1.7 * 2^-24 absolute. The quadrant and the rest
 * are integers, so no argument is too large and nothing is reduced in floats.
 */
VV_MATH void vv_sincos_turn(uint64_t turn, float *sine, float *cosine) {
    uint32_t quadrant = (uint32_t)((turn + (1ull << 61)) >> 62) & 3;
    int64_t rest = (int64_t)(turn - ((uint64_t)quadrant << 62)); /* -2^61 .. 2^61 - 1 */
    float r = (float)(int32_t)(rest >> 31) * 0x1.921fb6p-31f;    /* times 2 pi / 2^33 */
    float w = r * r;
    float s = 0x1.6cd7d6p-19f;
    s = fmaf(s, w, -0x1.a00f9cp-13f);
    s = fmaf(s, w, 0x1.111108p-7f);
    s = fmaf(s, w, -0x1.555556p-3f);
    s = fmaf(r * w, s, r);
    float c = -0x1.242a76p-22f;
    c = fmaf(c, w, 0x1.a0111ep-16f);
    c = fmaf(c, w, -0x1.6c16b8p-10f);
    c = fmaf(c, w, 0x1.555556p-5f);
    c = fmaf(c, w, -0.5f);
    c = fmaf(c, w, 1.0f);
    float a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -a : a;
    *cosine = (quadrant + 1) & 2 ? -b : b;
}

/*
 * Selection order (section 8) as one key, largest first: score descending, then index ascending; -0
 * equals +0. A NaN score has no key: test for it first.
 */
VV_MATH uint64_t vv_selection_key(float score, uint32_t index) {
    uint32_t u = vv_bits(score + 0.0f);
    u ^= u >> 31 ? 0xffffffffu : 0x80000000u;
    return (uint64_t)u << 32 | (0xffffffffu - index);
}
