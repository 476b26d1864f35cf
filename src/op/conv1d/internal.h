/* The ways to compute the operation, its check, and what they share. */
#pragma once
#include "op/conv1d/contract.h"
#include "registry/check.h"

int vv_conv1d_reference(const void *args, size_t begin, size_t end);
int vv_conv1d_portable(const void *args, size_t begin, size_t end);
int vv_conv1d_portable_avx2(const void *args, size_t begin, size_t end);
int vv_conv1d_portable_avx512(const void *args, size_t begin, size_t end);
void vv_conv1d_check(struct vv_check *check);
