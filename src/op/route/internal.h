/* The operations' variants and shapes, for this folder alone. */
#pragma once
#include "registry/check.h"

int vv_route_reference(const void *args, size_t begin, size_t end);
int vv_route_portable(const void *args, size_t begin, size_t end);
int vv_route_portable_avx2(const void *args, size_t begin, size_t end);
int vv_route_portable_avx512(const void *args, size_t begin, size_t end);

int vv_route_group_reference(const void *args, size_t begin, size_t end);
int vv_route_group_portable(const void *args, size_t begin, size_t end);

void vv_route_check(struct vv_check *check);
void vv_route_bench(struct vv_bench *bench);
