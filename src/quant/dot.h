/*
 * The quantised dot product (docs/arithmetic.md, section 2): one segment of a weight row with one
 * row of planes, then whole rows. Kernels use it through quant/row_dot.h.
 *
 * Sub-scales of super-block formats are multiplied into the weights once a segment: |scale * w| is
 * at most 4096, so the sum over the segment is a plain dot product of 16-bit integers, the same for
 * every format. One segment serves a few rows of activations while it is in the first cache.
 */
#pragma once
#include "base/dot.h"
#include "quant/list.h"
#include "quant/planes.h"

#ifdef __AVX2__
VV_INLINE int32_t vv_add_four(__m128i v) {
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xb1)));
}
#endif

/* Sum of w * x: exact in any order, so compilers may use multiply-and-add of 16-bit pairs. */
VV_INLINE int32_t vv_integer_dot(const int16_t *w, const int8_t *x, int n) {
#ifdef __AVX2__
    __m256i sum = _mm256_setzero_si256();
    for (int i = 0; i < n; i += 16) {
        __m256i q = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(x + i)));
        __m256i v = _mm256_loadu_si256((const __m256i *)(w + i));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(v, q));
    }
    return vv_add_four(
        _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
#else
    int32_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += w[i] * x[i];
    }
    return sum;
#endif
}

/* Sum of min * sum16. */
VV_INLINE int32_t vv_offset_dot(const int16_t *min /* [8] */, const int16_t *sum16 /* [8] */) {
#ifdef __AVX2__
    return vv_add_four(_mm_madd_epi16(_mm_loadu_si128((const __m128i *)min),
                                      _mm_loadu_si128((const __m128i *)sum16)));
#else
    int32_t sum = 0;
    for (int k = 0; k < 8; k++) {
        sum += min[k] * sum16[k];
    }
    return sum;
#endif
}

/* w = scale * w, after which integer dots of a super-block format's segment are its I. */
VV_INLINE void vv_fold_scales(struct vv_segment *s) {
    for (int k = 0; k < 8; k++) {
        s->group[k] *= s->scale[k];
    }
}

/* s of a super-block format: folded weights, 128 values of the coarse planes. */
VV_INLINE float vv_dot_super(const struct vv_segment *w, bool offset, const int8_t *q /* [128] */,
                             float scale, const int16_t *sum16 /* [8] */) {
    float s = (w->d * scale) * (float)vv_integer_dot(w->w, q, 128);
    if (offset) {
        s = fmaf(-(w->dmin * scale), (float)vv_offset_dot(w->min, sum16), s);
    }
    return s;
}

/* s of a block format: `values` of the fine planes. `step` is 16 or 32, a constant. */
VV_INLINE float vv_dot_block(const struct vv_segment *w, bool offset, int step, size_t values,
                             const int8_t *q /* [values] */, const float *scale /* [values / 32] */,
                             const int16_t *sum16 /* [values / 16] */) {
    float s = 0.0f;
    for (size_t b = 0; b < values / (size_t)step; b++) {
        size_t at = b * (size_t)step;
        float dx = scale[at / 32];
        s = fmaf(w->step_d[b] * dx, (float)vv_integer_dot(w->w + at, q + at, step), s);
        if (offset) {
            s = fmaf(w->step_m[b] * dx, (float)(sum16[at / 16] + sum16[at / 16 + 1]), s);
        }
    }
    return s;
}

/* ---- a weight row with rows of planes; see vv_rows_dot in quant/row_dot.h ---- */

enum { VV_DOT_ROWS = 8 }; /* that share an unpacked segment */

struct vv_weight_row {
    int type;          /* VV_TYPE_… */
    const uint8_t *at; /* its first block */
    size_t stride;     /* bytes from one block to the next: block_bytes in the file's order */
    size_t width;      /* values */
};

/* Row number i of the window. */
VV_INLINE size_t vv_picked(const int32_t *row, size_t i) {
    return row ? (size_t)row[i] : i;
}

VV_INLINE void vv_rows_dot_super(vv_unpack_part *unpack, size_t block_values, bool offset,
                                 const struct vv_weight_row *w, const struct vv_planes *x,
                                 const int32_t *row, size_t begin, size_t rows, float *sum) {
    size_t segments = w->width / 128;
    for (size_t s = 0; s < segments; s++) {
        struct vv_segment g;
        vv_unpack_segment(unpack, block_values, w->at, w->stride, s, 128, &g);
        vv_fold_scales(&g);
        for (size_t i = 0; i < rows; i++) {
            size_t at = vv_picked(row, begin + i) * segments + s;
            sum[i] += vv_dot_super(&g, offset, x->coarse_q + 128 * at, x->coarse_scale[at],
                                   x->coarse_sum16 + 8 * at);
        }
    }
}

VV_INLINE void vv_rows_dot_block(vv_unpack_part *unpack, size_t block_values, bool offset, int step,
                                 const struct vv_weight_row *w, const struct vv_planes *x,
                                 const int32_t *row, size_t begin, size_t rows, float *sum) {
    for (size_t first = 0; first < w->width; first += 128) {
        size_t values = w->width - first < 128 ? w->width - first : 128;
        struct vv_segment g;
        vv_unpack_segment(unpack, block_values, w->at, w->stride, first / 128, values, &g);
        for (size_t i = 0; i < rows; i++) {
            size_t at = vv_picked(row, begin + i) * w->width + first;
            sum[i] += vv_dot_block(&g, offset, step, values, x->fine_q + at,
                                   x->fine_scale + at / 32, x->fine_sum16 + at / 16);
        }
    }
}

/* Values first .. first + values - 1 of a weight row as floats; `values` at most 128, `first` a
 * multiple of 128. */
typedef void vv_decode_part(const struct vv_weight_row *w, size_t first, size_t values, float *to);

/* Section 4: every format decoded exactly, with the rows themselves. */
VV_INLINE void vv_rows_dot_float(vv_decode_part *decode, const struct vv_weight_row *w,
                                 const struct vv_planes *x, const int32_t *row, size_t begin,
                                 size_t rows, float *sum) {
    for (size_t first = 0; first < w->width; first += VV_SEGMENT) {
        size_t values = w->width - first < VV_SEGMENT ? w->width - first : VV_SEGMENT;
        float g[VV_SEGMENT];
        decode(w, first, values, g);
        for (size_t i = 0; i < rows; i++) {
            size_t at = vv_picked(row, begin + i) * w->width + first;
            sum[i] += vv_dot_segment(g, x->x + at, values);
        }
    }
}
