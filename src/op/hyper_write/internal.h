/* The ways to compute the operation and its check, for variants.c. */
#pragma once
#include "registry/check.h"

int vv_hyper_write_reference(const void *args, size_t begin, size_t end);
int vv_hyper_write_portable(const void *args, size_t begin, size_t end);
int vv_hyper_write_portable_avx2(const void *args, size_t begin, size_t end);
int vv_hyper_write_portable_avx512(const void *args, size_t begin, size_t end);
void vv_hyper_write_check(struct vv_check *check);
