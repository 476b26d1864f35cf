/*
 * Many float dot products at once, each with the bits of base/dot.h: rows of a matrix (keys, say)
 * against one vector. One dot alone spends as long on adding its 16 lanes as on its products; here
 * two rows fill the multipliers, and the last steps of the lane tree are taken for all rows
 * together, rows in vector lanes. Host only.
 */
#pragma once
#include "base/dot.h"

enum { VV_DOTS_MAX = 64 };

/* The first step of the lane tree (8 apart) of rows `a` and `a + stride`, a full segment each. Not
 * inlined: the lanes need the registers. */
static __attribute__((noinline)) void vv_dots_pair(const float *a, size_t stride, const float *b,
                                                   float (*eight)[VV_LANES / 2]) {
    float lane[2][VV_LANES];
    for (size_t j = 0; j < 2; j++) {
        for (size_t l = 0; l < VV_LANES; l++) {
            lane[j][l] = 0.0f;
        }
    }
    for (size_t i = 0; i < VV_SEGMENT; i += VV_LANES) {
        for (size_t j = 0; j < 2; j++) {
            for (size_t l = 0; l < VV_LANES; l++) {
                lane[j][l] = fmaf(a[j * stride + i + l], b[i + l], lane[j][l]);
            }
        }
    }
    for (size_t j = 0; j < 2; j++) {
        for (size_t l = 0; l < VV_LANES / 2; l++) {
            eight[j][l] = lane[j][l] + lane[j][l + 8];
        }
    }
}

/*
 * sum[j] += vv_dot_segment(a_j, b, n) for the `count` <= VV_DOTS_MAX rows a_j = a + j * stride; n
 * is at most VV_SEGMENT. Called for ascending segments on sums that began as +0 this is vv_dot.
 */
static inline void vv_dots_segment(const float *a, size_t stride, size_t count, const float *b,
                                   size_t n, float *sum /* [count] */) {
    float eight[VV_DOTS_MAX][8], four[VV_DOTS_MAX][4];
    size_t pairs = n == VV_SEGMENT ? count / 2 * 2 : 0;
    for (size_t j = 0; j < pairs; j += 2) {
        vv_dots_pair(a + j * stride, stride, b, eight + j);
    }
    for (size_t j = 0; j < pairs; j++) {
        for (size_t l = 0; l < 4; l++) {
            four[j][l] = eight[j][l] + eight[j][l + 4];
        }
    }
    for (size_t j = 0; j < pairs; j++) {
        sum[j] += (four[j][0] + four[j][2]) + (four[j][1] + four[j][3]);
    }
    for (size_t j = pairs; j < count; j++) {
        sum[j] += vv_dot_segment(a + j * stride, b, n);
    }
}
