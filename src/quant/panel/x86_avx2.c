/* Products of panels on AVX2; unpacking, and products of float weights with several rows, for all
 * kernels on vectors of 256 bits. */
#include "quant/panel/fill.h"
#include "quant/panel/floats.h"
#include "quant/panel/x86_ymm.h"

vv_panel_fill *vv_panel_fill_avx2(int type) {
    return fill_of(type);
}

/* Pairs of products that may be added in 16 bits: 254 · largest · deep <= 32767. */
#define BLOCK_SIGNED(k) BLOCK(SIGNED, k)
#define BLOCK_31(k) BLOCK(4, k)
#define BLOCK_16_31(k) BLOCK_16(4, k)
#define BLOCK_OFFSET_31(k) BLOCK_OFFSET(4, k)
#define SUPER_4_OFFSET_31(k) SUPER_4_OFFSET(4, k)
#define SUPER_8_SIGNED(k) SUPER_8(SIGNED, k)
#define SUPER_8_63(k) SUPER_8(2, k)
#define SUPER_8_128(k) SUPER_8(1, k)
#define SUPER_8_OFFSET_31(k) SUPER_8_OFFSET(4, k)
DOTS(block_signed, BLOCK_SIGNED)
DOTS(block_31, BLOCK_31)
DOTS(block_16, BLOCK_16_31)
DOTS(block_offset, BLOCK_OFFSET_31)
DOTS(super_4_offset, SUPER_4_OFFSET_31)
DOTS(super_8_signed, SUPER_8_SIGNED)
DOTS(super_8_63, SUPER_8_63)
DOTS(super_8_128, SUPER_8_128)
DOTS(super_8_offset, SUPER_8_OFFSET_31)

static void block(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                  const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    (f->largest <= 31 ? block_31 : block_signed)(p, f, values, x, n, total);
}

static void super_8(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                    const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    vv_panel_dots *of_largest = f->largest <= 63    ? super_8_63
                                : f->largest <= 128 ? super_8_128
                                                    : super_8_signed;
    of_largest(p, f, values, x, n, total);
}

/* ---- float weights: docs/arithmetic.md, section 4 ---- */

/* Two weight rows and two rows of activations: the contract's 16 lanes of four sums are eight
 * vectors, which keep both fma units busy out of one load for each product. */
enum { TOGETHER = 64 }; /* rows of activations that share what is decoded of two weight rows */

/* v[2j + i] += w[i] · x[j], eight elements from `at` on; of them those that `mask` has. */
VV_INLINE void add_products(const float *const *w /* [2] */, const float *const *x /* [2] */,
                            size_t at, bool whole, __m256i mask, __m256 *v /* [4] */) {
    __m256 a[2];
    for (int i = 0; i < 2; i++) {
        a[i] = whole ? _mm256_loadu_ps(w[i] + at) : _mm256_maskload_ps(w[i] + at, mask);
    }
    for (int j = 0; j < 2; j++) {
        __m256 b = whole ? _mm256_loadu_ps(x[j] + at) : _mm256_maskload_ps(x[j] + at, mask);
        for (int i = 0; i < 2; i++) {
            v[2 * j + i] = _mm256_fmadd_ps(a[i], b, v[2 * j + i]);
        }
    }
}

/* The sums of a segment of n elements: element 2j + i = w[i] · x[j]. */
VV_INLINE __m128 segment_dots(const float *const *w /* [2] */, const float *const *x /* [2] */,
                              size_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256 low[4], high[4]; /* lanes 0 .. 7, 8 .. 15 */
    for (int k = 0; k < 4; k++) {
        low[k] = high[k] = _mm256_setzero_ps();
    }
    size_t at = 0;
    for (; at + 16 <= n; at += 16) {
        add_products(w, x, at, true, lane, low);
        add_products(w, x, at + 8, true, lane, high);
    }
    if (at < n) {
        __m256i left = _mm256_set1_epi32((int)(n - at)), eight = _mm256_set1_epi32(8);
        add_products(w, x, at, false, _mm256_cmpgt_epi32(left, lane), low);
        left = _mm256_sub_epi32(left, eight);
        add_products(w, x, at + 8, false, _mm256_cmpgt_epi32(left, lane), high);
    }
    for (int k = 0; k < 4; k++) {
        low[k] = _mm256_add_ps(low[k], high[k]);
    }
    __m256d b[2];
    for (int k = 0; k < 2; k++) {
        __m256 p = low[2 * k], q = low[2 * k + 1];
        b[k] = _mm256_castps_pd(
            _mm256_add_ps(_mm256_permute2f128_ps(p, q, 0x20), _mm256_permute2f128_ps(p, q, 0x31)));
    }
    __m256 c = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(b[0], b[1])),
                             _mm256_castpd_ps(_mm256_unpackhi_pd(b[0], b[1])));
    c = _mm256_add_ps(_mm256_shuffle_ps(c, c, 0x88), _mm256_shuffle_ps(c, c, 0xdd));
    return _mm_unpacklo_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1));
}

VV_INLINE void decode(int type, const uint8_t *from, float *to, size_t n) {
    if (type == VV_TYPE_F32) {
        vv_decode_f32(from, to, n);
    } else if (type == VV_TYPE_F16) {
        vv_decode_f16(from, to, n);
    } else {
        vv_decode_bf16(from, to, n);
    }
}

/* Two weight rows, of which `outputs` exist, with at most TOGETHER rows of x. */
static void two_outputs(int type, size_t bytes, const uint8_t *const *w /* [2] */, const float *x,
                        size_t width, size_t rows, float *y, size_t y_row, size_t outputs) {
    __m128 total[TOGETHER / 2];
    for (size_t r = 0; r < rows; r += 2) {
        total[r / 2] = _mm_setzero_ps();
    }
    for (size_t first = 0; first < width; first += 128) {
        size_t n = width - first < 128 ? width - first : 128;
        float decoded[2][128];
        const float *const at[2] = {decoded[0], decoded[1]};
        decode(type, w[0] + first * bytes, decoded[0], n);
        decode(type, w[1] + first * bytes, decoded[1], n);
        for (size_t r = 0; r < rows; r += 2) {
            const float *row = x + r * width + first;
            const float *const two[2] = {row, r + 1 < rows ? row + width : row};
            total[r / 2] = _mm_add_ps(total[r / 2], segment_dots(at, two, n));
        }
    }
    for (size_t r = 0; r < rows; r++) {
        float four[4];
        _mm_storeu_ps(four, total[r / 2]);
        memcpy(y + r * y_row, four + r % 2 * 2, outputs * sizeof *y);
    }
}

void vv_float_products_avx2(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                            const float *x, size_t rows, float *y, size_t y_row) {
    const uint8_t *base = w->data + (slice * w->rows + first) * w->row_bytes;
    for (size_t r = 0; r < rows; r += TOGETHER) {
        size_t some = rows - r < TOGETHER ? rows - r : TOGETHER;
        for (size_t o = 0; o < count; o += 2) {
            size_t outputs = count - o < 2 ? 1 : 2; /* what doesn't exist is what does, again */
            const uint8_t *const two[2] = {base + o * w->row_bytes,
                                           base + (o + outputs - 1) * w->row_bytes};
            two_outputs(w->type, w->row_bytes / w->width, two, x + r * w->width, w->width, some,
                        y + r * y_row + o, y_row, outputs);
        }
    }
}

const struct vv_panel_kernel vv_panel_kernel_avx2 = {
    .fill = vv_panel_fill_avx2,
    .dots = VV_PANEL_TABLE,
    .rows_dot = vv_rows_dot_avx2,
    .floats = vv_float_products_avx2,
};
