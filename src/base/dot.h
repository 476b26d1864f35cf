/*
 * The float dot product of the arithmetic contract (docs/arithmetic.md, section 4). Within a
 * segment of 128 values 16 lanes, lane i mod 16, take ascending fma; the lanes are added 8, 4, 2, 1
 * apart; segments are added in ascending order from +0. Written so that compilers keep the lanes in
 * vectors.
 */
#pragma once
#include "base/math.h"
#include <stddef.h>

enum { VV_SEGMENT = 128, VV_LANES = 16 };

VV_MATH float vv_add_lanes(float *lane /* [16], destroyed */) {
    for (int apart = VV_LANES / 2; apart > 0; apart /= 2) {
        for (int l = 0; l < apart; l++) {
            lane[l] += lane[l + apart];
        }
    }
    return lane[0];
}

/* One segment of up to 128 values. */
VV_MATH float vv_dot_segment(const float *a, const float *b, size_t n) {
    float lane[VV_LANES] = {0};
    size_t i = 0;
    for (; i + VV_LANES <= n; i += VV_LANES) {
        for (size_t l = 0; l < VV_LANES; l++) {
            lane[l] = fmaf(a[i + l], b[i + l], lane[l]);
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] = fmaf(a[i + l], b[i + l], lane[l]);
    }
    return vv_add_lanes(lane);
}

VV_MATH float vv_dot(const float *a, const float *b, size_t n) {
    float sum = 0.0f;
    for (size_t at = 0; at < n; at += VV_SEGMENT) {
        sum += vv_dot_segment(a + at, b + at, n - at < VV_SEGMENT ? n - at : VV_SEGMENT);
    }
    return sum;
}

/* The same order with + for the fma. */
VV_MATH float vv_sum(const float *a, size_t n) {
    float sum = 0.0f;
    for (size_t at = 0; at < n; at += VV_SEGMENT) {
        float lane[VV_LANES] = {0};
        size_t end = n - at < VV_SEGMENT ? n : at + VV_SEGMENT;
        for (size_t i = at; i < end; i++) {
            lane[(i - at) % VV_LANES] += a[i];
        }
        sum += vv_add_lanes(lane);
    }
    return sum;
}
