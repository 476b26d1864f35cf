/*
 * Many float dot products at once, each with the bits of base/dot.h: rows of a matrix (keys, say)
 * against vectors. One dot alone spends as long on adding its 16 lanes as on its products. Here a
 * tile of dots shares what it loads, its 16 lanes stay in vectors, and the lane tree is taken for
 * all of the tile at once: a step puts the halves of two dots side by side and adds once. Host
 * only.
 */
#pragma once
#include "base/dot.h"
#include "base/vector.h"

enum {
    VV_DOT_VECTORS = VV_LANES / VV_WIDTH, /* that hold a dot's lanes */
    VV_TILE = VV_WIDTH == 16 ? 16 : 4,    /* dots that are taken together */
};

/* The lane tree of every dot of a tile, to out [VV_TILE]. */
#if defined(__AVX512F__)
static inline __attribute__((always_inline)) __m512 vv_tree_8(__m512 a, __m512 b) {
    return _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xee);
}

static inline __attribute__((always_inline)) __m512 vv_tree_4(__m512 a, __m512 b) {
    return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
}

static inline __attribute__((always_inline)) __m512 vv_tree_2(__m512 a, __m512 b) {
    return _mm512_shuffle_ps(a, b, 0x44) + _mm512_shuffle_ps(a, b, 0xee);
}

static inline __attribute__((always_inline)) __m512 vv_tree_1(__m512 a, __m512 b) {
    return _mm512_shuffle_ps(a, b, 0x88) + _mm512_shuffle_ps(a, b, 0xdd);
}

static inline __attribute__((always_inline)) void
vv_trees(vv_vector (*lanes)[VV_DOT_VECTORS] /* [VV_TILE] */, float *out) {
    __m512 four[4]; /* of dots i, i + 4, i + 8, i + 12 */
    for (size_t i = 0; i < 4; i++) {
        four[i] = vv_tree_4(vv_tree_8(lanes[i][0], lanes[i + 4][0]),
                            vv_tree_8(lanes[i + 8][0], lanes[i + 12][0]));
    }
    vv_store(out, vv_tree_1(vv_tree_2(four[0], four[1]), vv_tree_2(four[2], four[3])));
}
#elif defined(__AVX2__) && defined(__FMA__)
static inline __attribute__((always_inline)) __m256 vv_tree_4(__m256 a, __m256 b) {
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
}

static inline __attribute__((always_inline)) void
vv_trees(vv_vector (*lanes)[VV_DOT_VECTORS] /* [VV_TILE] */, float *out) {
    __m256 a = vv_tree_4(lanes[0][0] + lanes[0][1], lanes[2][0] + lanes[2][1]);
    __m256 b = vv_tree_4(lanes[1][0] + lanes[1][1], lanes[3][0] + lanes[3][1]);
    __m256 two = _mm256_shuffle_ps(a, b, 0x44) + _mm256_shuffle_ps(a, b, 0xee);
    __m128 low = _mm256_castps256_ps128(two), high = _mm256_extractf128_ps(two, 1);
    _mm_storeu_ps(out, _mm_shuffle_ps(low, high, 0x88) + _mm_shuffle_ps(low, high, 0xdd));
}
#else
static inline void vv_trees(vv_vector (*lanes)[VV_DOT_VECTORS] /* [VV_TILE] */, float *out) {
    for (size_t i = 0; i < VV_TILE; i++) {
        vv_vector x = (lanes[i][0] + lanes[i][2]) + (lanes[i][1] + lanes[i][3]);
        out[i] = (x[0] + x[2]) + (x[1] + x[3]);
    }
}
#endif

/* A full segment of VV_TILE / v rows against `v` vectors, a constant: out [v][rows]. */
static inline __attribute__((always_inline)) void vv_dots_tile(const float *const *a, size_t at,
                                                               const float *b, size_t stride,
                                                               size_t v, float *out) {
    vv_vector lanes[VV_TILE][VV_DOT_VECTORS] = {{{0}}};
    size_t rows = VV_TILE / v;
    for (size_t i = 0; i < VV_SEGMENT; i += VV_LANES) {
        for (size_t k = 0; k < VV_DOT_VECTORS; k++) {
            vv_vector x[VV_TILE];
            for (size_t r = 0; r < rows; r++) {
                x[r] = vv_load(a[r] + at + i + k * VV_WIDTH);
            }
            for (size_t c = 0; c < v; c++) {
                vv_vector y = vv_load(b + c * stride + at + i + k * VV_WIDTH);
                for (size_t r = 0; r < rows; r++) {
                    lanes[c * rows + r][k] = vv_fma(x[r], y, lanes[c * rows + r][k]);
                }
            }
        }
    }
    vv_trees(lanes, out);
}

/* All rows against `v` vectors, a constant. */
static inline __attribute__((always_inline)) void vv_dots_strip(const float *const *a, size_t count,
                                                                size_t at, const float *b,
                                                                size_t stride, size_t v, float *sum,
                                                                size_t sum_stride) {
    size_t rows = VV_TILE / v;
    for (size_t first = 0; first < count; first += rows) {
        const float *row[VV_TILE];
        float out[VV_TILE];
        size_t n = count - first < rows ? count - first : rows;
        for (size_t r = 0; r < rows; r++) {
            row[r] = a[r < n ? first + r : first];
        }
        vv_dots_tile(row, at, b, stride, v, out);
        for (size_t c = 0; c < v; c++) {
            for (size_t r = 0; r < n; r++) {
                sum[c * sum_stride + first + r] += out[c * rows + r];
            }
        }
    }
}

/*
 * sum[c * sum_stride + r] += the dot of values at .. at + n - 1 of row a[r] and of vector
 * b + c * stride, n at most VV_SEGMENT. Called for ascending segments on sums that began as +0 this
 * is vv_dot.
 */
static inline void vv_dots_segment(const float *const *a, size_t rows, size_t at, size_t n,
                                   const float *b, size_t stride, size_t vectors, float *sum,
                                   size_t sum_stride) {
    size_t c = 0;
    if (n == VV_SEGMENT) {
        for (; VV_TILE == 16 && c + 4 <= vectors; c += 4) {
            vv_dots_strip(a, rows, at, b + c * stride, stride, 4, sum + c * sum_stride, sum_stride);
        }
        for (; c + 2 <= vectors; c += 2) {
            vv_dots_strip(a, rows, at, b + c * stride, stride, 2, sum + c * sum_stride, sum_stride);
        }
        for (; c < vectors; c++) {
            vv_dots_strip(a, rows, at, b + c * stride, stride, 1, sum + c * sum_stride, sum_stride);
        }
    }
    for (; c < vectors; c++) {
        for (size_t r = 0; r < rows; r++) {
            sum[c * sum_stride + r] += vv_dot_segment(a[r] + at, b + c * stride + at, n);
        }
    }
}
