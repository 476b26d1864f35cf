/*
 * Products of panels on AVX-512 VNNI: a vector holds four values of each of sixteen weight rows,
 * vpdpbusd multiplies it with four activations of one row, and the float part of the contract is
 * done for sixteen rows at once.
 *
 * vpdpbusd wants one unsigned factor, which panels have; the shift that made them so, times the sum
 * of the activations, is taken away again. Exact.
 */
#include "quant/panel/kernel.h"
#include "quant/row_dot.h"

#include <immintrin.h>
#include <string.h>

/* Four activations, or a pair of sums, for every lane. */
VV_INLINE __m512i spread(const void *at) {
    int32_t four;
    memcpy(&four, at, sizeof four);
    return _mm512_set1_epi32(four);
}

enum { LARGEST = 8 }; /* rows of activations that share a load of weights */

/* t[i] += the dots of `steps` vectors with activations from `at` on of each of n rows. */
VV_INLINE void add_dots(const vv_lanes *w, int steps, const struct vv_panel_row *x, int at, int n,
                        __m512i *t) {
    for (int k = 0; k < steps; k++) {
        for (int i = 0; i < n; i++) {
            t[i] = _mm512_dpbusd_epi32(t[i], (__m512i)w[k], spread(x[i].q + at + 4 * k));
        }
    }
}

/* -(2^(7 - down) · sum of the activations of step b), for weights with that shift. */
VV_INLINE __m512i start_of(const struct vv_panel_row *x, int step, size_t b, int down) {
    return step == 16 ? _mm512_set1_epi32(-(128 >> down) * x->sum16[b])
                      : _mm512_srai_epi32(_mm512_set1_epi32(x->start[b]), (unsigned)down);
}

/* `step`: values to a scale, 32 or 16. */
VV_INLINE void block_rows(const struct vv_strip *p, int step, bool offset, int down, size_t values,
                          const struct vv_panel_row *x, int n, float (*total)[VV_PANEL_ROWS]) {
    __m512 s[LARGEST];
    for (int i = 0; i < n; i++) {
        s[i] = _mm512_setzero_ps();
    }
    for (size_t b = 0; b < values / (size_t)step; b++) {
        __m512i t[LARGEST];
        for (int i = 0; i < n; i++) {
            t[i] = offset ? _mm512_setzero_si512() : start_of(&x[i], step, b, down);
        }
        add_dots(p->w + (size_t)step / 4 * b, step / 4, x, step * (int)b, n, t);
        for (int i = 0; i < n; i++) {
            __m512 scale = _mm512_set1_ps(x[i].scale[(size_t)step * b / 32]);
            s[i] = _mm512_fmadd_ps(_mm512_mul_ps((__m512)p->step_d[b], scale),
                                   _mm512_cvtepi32_ps(t[i]), s[i]);
            if (offset) {
                s[i] = _mm512_fmadd_ps(_mm512_mul_ps((__m512)p->m[b], scale),
                                       _mm512_set1_ps(x[i].sum[b]), s[i]);
            }
        }
    }
    for (int i = 0; i < n; i++) {
        _mm512_storeu_ps(total[i], _mm512_add_ps(_mm512_loadu_ps(total[i]), s[i]));
    }
}

VV_INLINE void super_rows(const struct vv_strip *p, int groups, bool offset, int shift,
                          const struct vv_panel_row *x, int n, float (*total)[VV_PANEL_ROWS]) {
    __m512i sum[LARGEST];
    for (int i = 0; i < n; i++) {
        sum[i] = _mm512_setzero_si512();
    }
    for (int g = 0; g < groups; g++) {
        __m512i t[LARGEST];
        for (int i = 0; i < n; i++) {
            t[i] = _mm512_setzero_si512();
        }
        add_dots(p->w + 32 / groups * g, 32 / groups, x, 128 / groups * g, n, t);
        for (int i = 0; i < n; i++) {
            sum[i] = _mm512_add_epi32(sum[i], _mm512_mullo_epi32(t[i], (__m512i)p->scale[g]));
        }
    }
    for (int i = 0; i < n; i++) {
        __m512i j = _mm512_setzero_si512();
        __m512 dx = _mm512_set1_ps(x[i].scale[0]);
        for (int k = 0; k < 4; k++) {
            j = _mm512_dpwssd_epi32(j, (__m512i)p->pair[k], spread(x[i].sum16 + 2 * k));
        }
        if (!offset) {
            sum[i] = _mm512_sub_epi32(sum[i], _mm512_mullo_epi32(j, _mm512_set1_epi32(shift)));
        }
        __m512 s = _mm512_mul_ps(_mm512_mul_ps((__m512)p->d[0], dx), _mm512_cvtepi32_ps(sum[i]));
        if (offset) {
            s = _mm512_fnmadd_ps(_mm512_mul_ps((__m512)p->m[0], dx), _mm512_cvtepi32_ps(j), s);
        }
        _mm512_storeu_ps(total[i], _mm512_add_ps(_mm512_loadu_ps(total[i]), s));
    }
}

/* Rows in eights, then what is left. */
#define IN_BATCHES(CALL)                                                                           \
    size_t i = 0;                                                                                  \
    for (; i + 8 <= n; i += 8) {                                                                   \
        CALL(8);                                                                                   \
    }                                                                                              \
    VV_IN_FOURS(CALL)
#define DOTS(name, CALL) VV_PANEL_DOTS(name, IN_BATCHES, CALL)
#define SHIFT_128(k) block_rows(p->strip, 32, false, 0, values, x + i, k, total + i)
#define SHIFT_16(k) block_rows(p->strip, 32, false, 3, values, x + i, k, total + i)
#define SHIFT_8(k) block_rows(p->strip, 32, false, 4, values, x + i, k, total + i)
#define SHIFT_1(k) block_rows(p->strip, 32, false, 7, values, x + i, k, total + i)
#define BLOCK_16(k) block_rows(p->strip, 16, false, 3, values, x + i, k, total + i)
#define BLOCK_OFFSET(k) block_rows(p->strip, 32, true, 0, values, x + i, k, total + i)
#define SUPER_4_OFFSET(k) super_rows(p->strip, 4, true, 0, x + i, k, total + i)
#define SUPER_8(k) super_rows(p->strip, 8, false, f->shift, x + i, k, total + i)
#define SUPER_8_OFFSET(k) super_rows(p->strip, 8, true, 0, x + i, k, total + i)
DOTS(shift_128, SHIFT_128)
DOTS(shift_16, SHIFT_16)
DOTS(shift_8, SHIFT_8)
DOTS(shift_1, SHIFT_1)
DOTS(block_16, BLOCK_16)
DOTS(block_offset, BLOCK_OFFSET)
DOTS(super_4_offset, SUPER_4_OFFSET)
DOTS(super_8, SUPER_8)
DOTS(super_8_offset, SUPER_8_OFFSET)

static void block(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                  const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    vv_panel_dots *of_shift = f->shift == 128  ? shift_128
                              : f->shift == 16 ? shift_16
                              : f->shift == 8  ? shift_8
                                               : shift_1;
    of_shift(p, f, values, x, n, total);
}

const struct vv_panel_kernel vv_panel_kernel_avx512vnni = {
    .fill = vv_panel_fill_avx512,
    .dots = VV_PANEL_TABLE,
    .rows_dot = vv_rows_dot_avx512,
    .floats = vv_float_products_avx512,
};
