/*
 * Products of weight rows with rows of activations by panels: what kernels of every instruction set
 * offer to the operations that read weights (gemv, experts, hyper_read).
 */
#pragma once
#include "quant/panel/panel.h"

/* Rows of activations as panels' products take them: row i of segment s is row[s * stride + i]. */
struct vv_taken {
    const struct vv_panel_format *format;
    const struct vv_panel_row *row;
    size_t rows, stride;
};

/* Room for rows that don't lie like that: half a megabyte, on the stack of the thread. */
struct vv_taken_room {
    struct vv_panel_row row[512 * 1024 / sizeof(struct vv_panel_row)];
};

enum { VV_TAKEN_MOST = 256 };

/* How many rows of `width` values fit, VV_TAKEN_MOST at most; 0: none, the width is too large. */
size_t vv_taken_most(size_t width);

/* Rows row[0] … row[n - 1] of the `all` rows of x; `row` NULL: first, first + 1, …, which lie as
 * they should where x has panels of its own, and then there may be any number. */
struct vv_taken vv_take_rows(const struct vv_panel_format *format, const struct vv_planes *x,
                             size_t all, const int32_t *row, size_t first, size_t n,
                             struct vv_taken_room *room);

/*
 * y[to[i] * y_row + r] = weight row first + r of `slice` . taken row i, r = 0 .. count - 1; `to`
 * NULL: 0, 1, … The weight lies in the file's order and is of the format that the rows were taken
 * for; its separate scale is not applied. The results are vv_rows_dot's (quant/row_dot.h), bit for
 * bit.
 */
void vv_taken_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w,
                       size_t slice, size_t first, size_t count, const struct vv_taken *x, float *y,
                       size_t y_row, const int32_t *to);

/* The same for rows from_row … from_row + rows - 1 of the `all` rows of x, any number of them, and
 * weights of any format. */
void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, size_t all, size_t from_row,
                 size_t rows, float *y, size_t y_row);
