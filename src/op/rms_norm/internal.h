/* The ways to compute the operation and its check, for variants.c. */
#pragma once
#include "registry/check.h"

int vv_rms_norm_reference(const void *args, size_t begin, size_t end);
int vv_rms_norm_portable(const void *args, size_t begin, size_t end);
int vv_rms_norm_portable_avx2(const void *args, size_t begin, size_t end);
int vv_rms_norm_portable_avx512(const void *args, size_t begin, size_t end);
void vv_rms_norm_check(struct vv_check *check);
void vv_rms_norm_bench(struct vv_bench *bench);
