/* Products of float weights (F32, F16, BF16) with several rows at a time: the contract's sixteen
 * lanes in a vector. */
#pragma once
#include "quant/weight.h"

/* y[i * y_row + r] = weight row first + r of `slice` . row i of x ([rows][width]), r = 0 .. count -
 * 1. Bit for bit vv_rows_dot's (quant/row_dot.h). */
typedef void vv_float_products(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                               const float *x, size_t rows, float *y, size_t y_row);
vv_float_products vv_float_products_avx2, vv_float_products_avx512;
