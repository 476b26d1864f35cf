/*
 * gemv: y[r][o] = (W x_r)[o], for the rows of a window and a weight of any format
 * (docs/arithmetic.md, sections 2 and 4).
 *
 * Super-block formats, by segments of 128 values, with x's coarse planes (q, d_x, sum16):
 *     I = sum of scale * w * q,   J = sum of min * sum16                      exact integers
 *     s = (d * d_x) * (float)I;   with an offset   s = fma(-(dmin * d_x), (float)J, s)
 * Block formats, by steps of 32 values (NVFP4: 16), ascending, from s = +0, with x's fine planes:
 *     s = fma(d * d_x, (float)dot, s);   with an offset, right after   s = fma(m * d_x, (float)sum,
 * s) Float formats, and all formats when x.float_only: the float dot product of the decoded row and
 * x. y = the sum of s over segments, ascending, from +0; then, where the weight has a separate
 * scale, y = y * scale.
 *
 * A y that isn't finite: VV_ERROR_NOT_FINITE (y is then undefined). A unit is one output o of all
 * rows.
 */
#pragma once
#include "quant/planes.h"
#include "quant/weight.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_gemv {
    struct vv_planes x; /* [rows][weight->width]; those kinds that the weight's format reads */
    struct vv_weight *weight; /* [outputs = weight->rows][width], one slice */
    float *y;                 /* [rows][y_row], of which `outputs` are written */
    size_t y_row;             /* floats from one row to the next */
    struct vv_rows rows;
};

extern const struct vv_operation vv_gemv;
