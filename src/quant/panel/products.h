/*
 * Products of weight rows with rows of activations by panels: what kernels of every instruction set
 * offer to the operations that read weights (gemv, experts, hyper_read).
 */
#pragma once
#include "quant/panel/panel.h"

/*
 * y[i * y_row + r] = weight row first + r of `slice` . activation row row[i], for r = 0 .. count -
 * 1 and i = 0 .. rows - 1; `row` NULL: rows 0, 1, … The weight lies in the file's order and is of a
 * type that vv_panel_format knows; its separate scale is not applied. The results are
 * vv_rows_dot's (quant/row_dot.h), bit for bit. Sixteen rows at a time are fastest.
 */
void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, const int32_t *row,
                 size_t rows, float *y, size_t y_row);
