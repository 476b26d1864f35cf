/*
 * The contract's float dot product (docs/arithmetic.md, section 4) for references: as the text has
 * it, with nothing done for speed. Kernels use base/dot.h, so the checks compare the two.
 */
#pragma once
#include "base/math.h"
#include <stddef.h>

static inline float vv_plain_dot(const float *a, const float *b, size_t n) {
    float sum = 0.0f;
    for (size_t at = 0; at < n; at += 128) {
        float lane[16] = {0};
        for (size_t i = at; i < at + 128 && i < n; i++) {
            lane[i % 16] = fmaf(a[i], b[i], lane[i % 16]);
        }
        for (size_t apart = 8; apart > 0; apart /= 2) {
            for (size_t l = 0; l < apart; l++) {
                lane[l] += lane[l + apart];
            }
        }
        sum += lane[0];
    }
    return sum;
}
