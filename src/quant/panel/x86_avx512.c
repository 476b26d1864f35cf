/* What kernels on AVX-512 share: unpacking, and products of float weights with several rows. */
#include "gguf/types.h"
#include "quant/panel/fill.h"
#include "quant/panel/floats.h"

vv_panel_fill *vv_panel_fill_avx512(int type) {
    return fill_of(type);
}

/* ---- float weights: docs/arithmetic.md, section 4 ---- */

/* A vector is the contract's 16 lanes of one weight row and one row of activations; four rows of
 * each make 16 of them, which keep both fma units busy out of 8 loads. */
enum { BLOCK = 4, LANES = 16 };

/* Lane 4j + i of the result = the sum of the lanes of v[4i + j], by the tree 8, 4, 2, 1. */
VV_INLINE __m512 add_lanes(const __m512 *v /* [16] */) {
    __m512 a[8], b[4], c[2];
    for (int i = 0; i < 8; i++) {
        a[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0x44),
                             _mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0xee));
    }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0xdd));
    }
    for (int i = 0; i < 2; i++) {
        __m512d p = _mm512_castps_pd(b[2 * i]), q = _mm512_castps_pd(b[2 * i + 1]);
        c[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(p, q)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(p, q)));
    }
    return _mm512_add_ps(_mm512_shuffle_ps(c[0], c[1], 0x88), _mm512_shuffle_ps(c[0], c[1], 0xdd));
}

/* Sixteen values of a weight row, or those of them that `mask` has. */
VV_INLINE __m512 weights_at(int type, const uint8_t *row, size_t i, __mmask16 mask) {
    if (type == VV_TYPE_F32) {
        return _mm512_maskz_loadu_ps(mask, row + 4 * i);
    }
    __m256i half = _mm256_maskz_loadu_epi16(mask, row + 2 * i);
    return type == VV_TYPE_F16
               ? _mm512_cvtph_ps(half)
               : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

VV_INLINE void block(int type, const uint8_t *const *w /* [4] */, const float *const *x /* [4] */,
                     size_t width, float *y, size_t y_row, size_t outputs, size_t rows) {
    __m512 total = _mm512_setzero_ps();
    for (size_t first = 0; first < width; first += 128) {
        size_t end = width - first < 128 ? width : first + 128;
        __m512 v[BLOCK * BLOCK];
        for (int i = 0; i < BLOCK * BLOCK; i++) {
            v[i] = _mm512_setzero_ps();
        }
        for (size_t at = first; at < end; at += LANES) {
            __mmask16 mask = (__mmask16)(end - at < LANES ? (1u << (end - at)) - 1 : 0xffffu);
            __m512 row[BLOCK];
            for (int j = 0; j < BLOCK; j++) {
                row[j] = _mm512_maskz_loadu_ps(mask, x[j] + at);
            }
            for (int i = 0; i < BLOCK; i++) {
                __m512 weight = weights_at(type, w[i], at, mask);
                for (int j = 0; j < BLOCK; j++) { /* an absent element leaves its lane alone */
                    v[BLOCK * i + j] =
                        _mm512_mask3_fmadd_ps(weight, row[j], v[BLOCK * i + j], mask);
                }
            }
        }
        total = _mm512_add_ps(total, add_lanes(v));
    }
    float sum[BLOCK][BLOCK]; /* [row][output] */
    _mm512_storeu_ps(sum, total);
    for (size_t j = 0; j < rows; j++) {
        for (size_t i = 0; i < outputs; i++) {
            y[j * y_row + i] = sum[j][i];
        }
    }
}

#define FLOAT_BLOCK(TYPE, name)                                                                    \
    static void block_##name(const uint8_t *const *w, const float *const *x, size_t width,         \
                             float *y, size_t y_row, size_t outputs, size_t rows) {                \
        block(VV_TYPE_##TYPE, w, x, width, y, y_row, outputs, rows);                               \
    }
VV_FLOAT_FORMATS(FLOAT_BLOCK)

void vv_float_products_avx512(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                              const float *x, size_t rows, float *y, size_t y_row) {
    const uint8_t *base = w->data + (slice * w->rows + first) * w->row_bytes;
    for (size_t o = 0; o < count; o += BLOCK) {
        size_t outputs = count - o < BLOCK ? count - o : BLOCK;
        const uint8_t *weight[BLOCK];
        for (size_t i = 0; i < BLOCK; i++) { /* what doesn't exist is what does, again */
            weight[i] = base + (o + (i < outputs ? i : 0)) * w->row_bytes;
        }
        for (size_t r = 0; r < rows; r += BLOCK) {
            size_t some = rows - r < BLOCK ? rows - r : BLOCK;
            const float *at[BLOCK];
            for (size_t j = 0; j < BLOCK; j++) {
                at[j] = x + (r + (j < some ? j : 0)) * w->width;
            }
            float *to = y + r * y_row + o;
            switch (w->type) {
            case VV_TYPE_F32:
                block_f32(weight, at, w->width, to, y_row, outputs, some);
                break;
            case VV_TYPE_F16:
                block_f16(weight, at, w->width, to, y_row, outputs, some);
                break;
            default:
                block_bf16(weight, at, w->width, to, y_row, outputs, some);
                break;
            }
        }
    }
}
