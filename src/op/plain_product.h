/*
 * One output of a weight for one row of planes, by gemv's reference: for references of operations
 * that read weights their own way.
 */
#pragma once
#include "op/gemv/contract.h"

/* Row `row` of the planes alone. */
static inline struct vv_planes vv_planes_row(const struct vv_planes *x, size_t row) {
    size_t width = x->width, sums = row * vv_plane_scales(width, VV_SUM_UNIT);
    struct vv_planes one = {.width = width, .x = x->x + row * width, .float_only = x->float_only};
    if (x->coarse_q) {
        one.coarse_q = x->coarse_q + row * width;
        one.coarse_scale = x->coarse_scale + row * vv_plane_scales(width, VV_COARSE_UNIT);
        one.coarse_sum16 = x->coarse_sum16 + sums;
    }
    if (x->fine_q) {
        one.fine_q = x->fine_q + row * width;
        one.fine_scale = x->fine_scale + row * vv_plane_scales(width, VV_FINE_UNIT);
        one.fine_sum16 = x->fine_sum16 + sums;
    }
    return one;
}

/* y = (row `output` of slice `slice`) · (row `row` of x), the weight's separate scale included. */
static inline int vv_plain_product(const struct vv_weight *weight, size_t slice, size_t output,
                                   const struct vv_planes *x, size_t row, float *y) {
    const int32_t rows = 1;
    struct vv_weight one = *weight;
    one.data += (slice * weight->rows + output) * weight->row_bytes;
    one.rows = one.slices = 1;
    one.scale = weight->scale ? weight->scale + slice : NULL;
    struct vv_gemv gemv = {
        .x = vv_planes_row(x, row), .weight = &one, .y = y, .y_row = 1, .rows = {&rows, 1}};
    return vv_gemv.variants->run(&gemv, 0, 1);
}
