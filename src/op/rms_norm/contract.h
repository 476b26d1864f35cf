/*
 * rms_norm: y_i = x_i / sqrt(mean_k x_k² + eps) · weight_i, over each group of `width` values
 * (Zhang and Sennrich 2019). Weights are ready to multiply: nothing is added to them.
 *
 * Order. sum = dot(x, x), docs/arithmetic.md section 4. Then, each one rounded operation:
 *
 *     mean = sum / (float)width      root = sqrt(mean + eps)
 *     inv  = 1 / root                y_i  = (x_i · inv) · weight_i
 *
 * A sum that is infinite or NaN is VV_ERROR_NOT_FINITE. A unit is one group of one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_rms_norm {
    const float *x;      /* [width] at x + row * x_row + group * x_group */
    const float *weight; /* [width] at weight + group * weight_group */
    float *y;            /* [width] at y + row * y_row + group * y_group; may be x, strides equal */
    struct vv_rows rows;
    size_t groups;
    size_t width;                          /* any, 1 or more */
    size_t x_row, x_group, y_row, y_group; /* strides in floats; groups do not overlap */
    size_t weight_group;                   /* a stride too; 0: all groups have the same weight */
    float eps;                             /* inside the root; positive */
};

extern const struct vv_operation vv_rms_norm;
