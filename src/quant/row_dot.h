/*
 * The product of one weight row with rows of activations, for every format: the heart of gemv, and
 * of the operations that read weights their own way (experts, hyper_read).
 *
 * VV_ISA(vv_rows_dot) is built once for each instruction set (row_dot.c); the portable.c of an
 * operation calls the copy of its own set.
 */
#pragma once
#include "base/isa.h"
#include "quant/dot.h"
#include "quant/format.h"
#include "quant/weight.h"

/* Row `row` of slice `slice` of a weight that lies in the file's order. */
static inline struct vv_weight_row vv_weight_row(const struct vv_weight *w, size_t slice,
                                                 size_t row) {
    const uint8_t *at = w->data + (slice * w->rows + row) * w->row_bytes;
    return (struct vv_weight_row){w->type, at, vv_format(w->type)->block_bytes, w->width};
}

/*
 * y[i * y_stride] = weight row . activation row row[i], i = 0 .. rows - 1, in the contract's order:
 * super-block formats with x's coarse planes, block formats with its fine ones, float formats with
 * x itself; with x->float_only every format decoded, with x itself. `row` NULL: rows 0, 1, …
 * x->width is the weight row's width. The weight's separate scale is not applied. A result that
 * isn't finite is an error that the caller has to see (docs/arithmetic.md, section 2).
 */
typedef void vv_rows_dot_copy(const struct vv_weight_row *w, const struct vv_planes *x,
                              const int32_t *row /* [rows] or NULL */, size_t rows, float *y,
                              size_t y_stride);
vv_rows_dot_copy vv_rows_dot;
#ifdef __x86_64__
vv_rows_dot_copy vv_rows_dot_avx2, vv_rows_dot_avx512;
#endif
