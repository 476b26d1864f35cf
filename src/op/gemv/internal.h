/* The operation's variants, for variants.c and check.c alone. */
#pragma once
#include "op/gemv/contract.h"
#include "op/gemv/rows4.h"
#include "op/panels.h"

int vv_gemv_reference(const void *args, size_t begin, size_t end);

int vv_gemv_portable(const void *args, size_t begin, size_t end);
int vv_gemv_rows4(const void *args, size_t begin, size_t end);
#ifdef __x86_64__
int vv_gemv_portable_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_portable_avx512(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx512(const void *args, size_t begin, size_t end);
#endif

#define VV_GEMV_PANELS(set, needs)                                                                 \
    int vv_gemv_panels_##set(const void *args, size_t begin, size_t end);
VV_PANEL_SETS(VV_GEMV_PANELS)
#undef VV_GEMV_PANELS
