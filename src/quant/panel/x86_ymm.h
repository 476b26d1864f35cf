/*
 * Products of panels on vectors of 256 bits, a strip of eight weight rows each;
 * included by x86_avx2.c and x86_avxvnni.c.
 *
 * AVX2 has no sum of four products of bytes. vpmaddubsw adds two in 16 bits, saturating, so values
 * decide how many such pairs may be added before vpmaddwd widens them: `deep` of them. vpmaddwd
 * multiplies by one, or by the sub-scale, which then costs nothing. Values of eight bits, |w| <=
 * 128, bear none, and need a factor without sign: |w| times x with the sign of w, at most 128 · 127
 * · 2 = 32512 (activations are never -128).
 */
#pragma once
#include "quant/panel/kernel.h"
#include "quant/row_dot.h"

#include <immintrin.h>
#include <string.h>

/* Four activations, or a pair of sums, for every lane. */
VV_INLINE __m256i spread(const void *at) {
    int32_t four;
    memcpy(&four, at, sizeof four);
    return _mm256_set1_epi32(four);
}

enum { LARGEST = 4, SIGNED = 0 }; /* rows of activations at a time; `deep` of eight-bit values */

/* t[i] += scale · (dots of `steps` vectors with activations from `at` on), i < n. */
VV_INLINE void add_dots(const vv_lanes *w, int steps, int deep, __m256i scale,
                        const struct vv_panel_row *x, int at, int n, __m256i *t) {
    const int together = deep == SIGNED ? 1 : deep;
    for (int k = 0; k < steps; k += together) {
        for (int i = 0; i < n; i++) {
            __m256i pairs = _mm256_setzero_si256();
            for (int l = k; l < k + together; l++) {
                __m256i q = spread(x[i].q + at + 4 * l), v = (__m256i)w[l];
                if (deep == SIGNED) {
                    v = _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80));
                    pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(q, v));
                } else {
                    pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(v, q));
                }
            }
            t[i] = _mm256_add_epi32(t[i], _mm256_madd_epi16(pairs, scale));
        }
    }
}

#ifdef __AVXVNNI__
/* One instruction does it, and any value fits. */
enum { ANY = 2 };
VV_INLINE void add_four_dots(const vv_lanes *w, int steps, const struct vv_panel_row *x, int at,
                             int n, __m256i *t) {
    for (int k = 0; k < steps; k++) {
        __m256i v = (__m256i)w[k];
        for (int i = 0; i < n; i++) {
            t[i] = _mm256_dpbusd_avx_epi32(t[i], v, spread(x[i].q + at + 4 * k));
        }
    }
}
#endif

/* Minus the shift, a power of two, times the sum of the activations of step b. */
VV_INLINE __m256i start_of(const struct vv_panel_row *x, int step, size_t b, int shift) {
    return _mm256_set1_epi32(step == 16 ? -shift * x->sum16[b] : x->start[b] / 128 * shift);
}

/* `step`: values to a scale, 32 or 16. */
VV_INLINE void block_rows(const struct vv_strip *p, int step, bool offset, int deep, int shift,
                          size_t values, const struct vv_panel_row *x, int n,
                          float *total /* [n][VV_PANEL_ROWS] */) {
    __m256 s[LARGEST];
    for (int i = 0; i < n; i++) {
        s[i] = _mm256_setzero_ps();
    }
    for (size_t b = 0; b < values / (size_t)step; b++) {
        const vv_lanes *w = p->w + (size_t)step / 4 * b;
        __m256i t[LARGEST];
        for (int i = 0; i < n; i++) {
            bool shifted = !offset && deep != SIGNED;
            t[i] = shifted ? start_of(&x[i], step, b, shift) : _mm256_setzero_si256();
        }
#ifdef __AVXVNNI__
        add_four_dots(w, step / 4, x, step * (int)b, n, t);
#else
        add_dots(w, step / 4, deep, _mm256_set1_epi16(1), x, step * (int)b, n, t);
#endif
        __m256 d = (__m256)p->step_d[b];
        for (int i = 0; i < n; i++) {
            __m256 scale = _mm256_set1_ps(x[i].scale[(size_t)step * b / 32]);
            s[i] = _mm256_fmadd_ps(_mm256_mul_ps(d, scale), _mm256_cvtepi32_ps(t[i]), s[i]);
            if (offset) {
                __m256 m = (__m256)p->m[b];
                s[i] = _mm256_fmadd_ps(_mm256_mul_ps(m, scale), _mm256_set1_ps(x[i].sum[b]), s[i]);
            }
        }
    }
    for (int i = 0; i < n; i++) {
        float *to = total + i * VV_PANEL_ROWS;
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), s[i]));
    }
}

VV_INLINE void super_rows(const struct vv_strip *p, int groups, bool offset, int deep, int shift,
                          const struct vv_panel_row *x, int n,
                          float *total /* [n][VV_PANEL_ROWS] */) {
    __m256i sum[LARGEST];
    for (int i = 0; i < n; i++) {
        sum[i] = _mm256_setzero_si256();
    }
    for (int g = 0; g < groups; g++) {
        __m256i scale = (__m256i)p->scale[g];
        int steps = 32 / groups, at = 128 / groups * g;
#ifdef __AVXVNNI__
        __m256i t[LARGEST];
        for (int i = 0; i < n; i++) {
            t[i] = _mm256_setzero_si256();
        }
        add_four_dots(p->w + steps * g, steps, x, at, n, t);
        for (int i = 0; i < n; i++) {
            sum[i] = _mm256_add_epi32(sum[i], _mm256_mullo_epi32(t[i], scale));
        }
#else
        scale = _mm256_blend_epi16(scale, _mm256_slli_epi32(scale, 16), 0xaa);
        add_dots(p->w + steps * g, steps, deep < steps ? deep : steps, scale, x, at, n, sum);
#endif
    }
    __m256 d = (__m256)p->d[0], m = (__m256)p->m[0];
    for (int i = 0; i < n; i++) {
        __m256i j = _mm256_setzero_si256();
        __m256 dx = _mm256_set1_ps(x[i].scale[0]);
        for (int k = 0; k < 4; k++) {
            j = _mm256_add_epi32(
                j, _mm256_madd_epi16((__m256i)p->pair[k], spread(x[i].sum16 + 2 * k)));
        }
        if (!offset && deep != SIGNED) {
            sum[i] = _mm256_sub_epi32(sum[i], _mm256_mullo_epi32(j, _mm256_set1_epi32(shift)));
        }
        __m256 s = _mm256_mul_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(sum[i]));
        if (offset) {
            s = _mm256_fnmadd_ps(_mm256_mul_ps(m, dx), _mm256_cvtepi32_ps(j), s);
        }
        float *to = total + i * VV_PANEL_ROWS;
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), s));
    }
}

#define IN_BATCHES(CALL)                                                                           \
    for (int k = 0; k < VV_STRIPS; k++) {                                                          \
        const struct vv_strip *strip = &p->strip[k];                                               \
        size_t i = 0;                                                                              \
        VV_IN_FOURS(CALL)                                                                          \
    }
#define DOTS(name, CALL) VV_PANEL_DOTS(name, IN_BATCHES, CALL)
#define ROWS(n) x + i, n, total[i] + VV_WIDTH *k
#define BLOCK(deep, n) block_rows(strip, 32, false, deep, f->shift, values, ROWS(n))
#define BLOCK_16(deep, n) block_rows(strip, 16, false, deep, 16, values, ROWS(n))
#define BLOCK_OFFSET(deep, n) block_rows(strip, 32, true, deep, 0, values, ROWS(n))
#define SUPER_4_OFFSET(deep, n) super_rows(strip, 4, true, deep, 0, ROWS(n))
#define SUPER_8(deep, n) super_rows(strip, 8, false, deep, f->shift, ROWS(n))
#define SUPER_8_OFFSET(deep, n) super_rows(strip, 8, true, deep, 0, ROWS(n))
