/* The ways to compute the operations and their checks, for variants.c and check.c. */
#pragma once
#include "op/panels.h"
#include "registry/check.h"

int vv_hyper_norm_reference(const void *args, size_t begin, size_t end);
int vv_hyper_norm_portable(const void *args, size_t begin, size_t end);
int vv_hyper_norm_portable_avx2(const void *args, size_t begin, size_t end);
int vv_hyper_norm_portable_avx512(const void *args, size_t begin, size_t end);

int vv_hyper_down_reference(const void *args, size_t begin, size_t end);
int vv_hyper_down_portable(const void *args, size_t begin, size_t end);
int vv_hyper_down_portable_avx2(const void *args, size_t begin, size_t end);
int vv_hyper_down_portable_avx512(const void *args, size_t begin, size_t end);

int vv_hyper_up_reference(const void *args, size_t begin, size_t end);
int vv_hyper_up_portable(const void *args, size_t begin, size_t end);
int vv_hyper_up_portable_avx2(const void *args, size_t begin, size_t end);
int vv_hyper_up_portable_avx512(const void *args, size_t begin, size_t end);

#define VV_HYPER_PANELS(set, needs)                                                                \
    int vv_hyper_down_panels_##set(const void *args, size_t begin, size_t end);                    \
    int vv_hyper_up_panels_##set(const void *args, size_t begin, size_t end);
VV_PANEL_SETS(VV_HYPER_PANELS)
#undef VV_HYPER_PANELS

void vv_hyper_read_check(struct vv_check *check);
void vv_hyper_read_bench(struct vv_bench *bench);
void vv_hyper_norm_check(struct vv_check *check);    /* check_norm.c */
void vv_hyper_product_check(struct vv_check *check); /* check_product.c: down and up */
