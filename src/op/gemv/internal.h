/* The operation's variants, for variants.c and check.c alone. */
#pragma once
#include "op/gemv/contract.h"
#include "op/gemv/rows4.h"
#include "quant/panel/panel.h"

int vv_gemv_reference(const void *args, size_t begin, size_t end);

int vv_gemv_portable(const void *args, size_t begin, size_t end);
int vv_gemv_rows4(const void *args, size_t begin, size_t end);
#ifdef __x86_64__
int vv_gemv_portable_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_portable_avx512(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx512(const void *args, size_t begin, size_t end);

/* The copies of quant/row_dot.h's function. */
void vv_rows_dot_avx2(const struct vv_weight_row *w, const struct vv_planes *x, const int32_t *row,
                      size_t rows, float *y, size_t y_stride);
void vv_rows_dot_avx512(const struct vv_weight_row *w, const struct vv_planes *x,
                        const int32_t *row, size_t rows, float *y, size_t y_stride);
#endif

#define VV_GEMV_PANELS(set, needs)                                                                 \
    int vv_gemv_panels_##set(const void *args, size_t begin, size_t end);
VV_PANEL_SETS(VV_GEMV_PANELS)
#undef VV_GEMV_PANELS
