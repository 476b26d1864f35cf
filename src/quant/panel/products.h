/*
 * Products of weight rows with rows of activations by panels: what kernels of every instruction set
 * offer to the operations that read weights (gemv, experts, hyper_read).
 */
#pragma once
#include "quant/panel/panel.h"

/* Rows of activations laid out for products with weights of one format, and how many there can be:
 * half a megabyte, on the stack of the thread that multiplies. */
struct vv_taken {
    const struct vv_panel_format *format;
    size_t width, rows;
    struct vv_panel_row row[512 * 1024 / sizeof(struct vv_panel_row)]; /* [segments][rows] */
};

/* How many rows of `width` values vv_take_rows takes at most; 0: none, the width is too large. */
size_t vv_taken_most(size_t width);

/* Takes rows row[0] … row[n - 1] of x; `row` NULL: first, first + 1, … */
void vv_take_rows(const struct vv_panel_format *format, const struct vv_planes *x,
                  const int32_t *row, size_t first, size_t n, struct vv_taken *to);

/*
 * y[to[i] * y_row + r] = weight row first + r of `slice` . taken row i, r = 0 .. count - 1; `to`
 * NULL: 0, 1, … The weight lies in the file's order and is of the format that the rows were taken
 * for; its separate scale is not applied. The results are vv_rows_dot's (quant/row_dot.h), bit for
 * bit.
 */
void vv_taken_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w,
                       size_t slice, size_t first, size_t count, const struct vv_taken *x, float *y,
                       size_t y_row, const int32_t *to);

/* The same of any number of rows row[i] (NULL: 0, 1, …), of weights of any format, with y in the
 * order of i. */
void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, const int32_t *row,
                 size_t rows, float *y, size_t y_row);
