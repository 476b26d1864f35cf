/* The operation's variants, for this folder alone. */
#pragma once
#include "op/hash_route/contract.h"
#include "registry/check.h"

/* The experts that the table has for a row, ascending. */
int vv_hash_route_listed(const struct vv_hash_route *a, size_t row, int32_t *expert);

int vv_hash_route_reference(const void *args, size_t begin, size_t end);
int vv_hash_route_portable(const void *args, size_t begin, size_t end);
int vv_hash_route_portable_avx2(const void *args, size_t begin, size_t end);
int vv_hash_route_portable_avx512(const void *args, size_t begin, size_t end);
void vv_hash_route_check(struct vv_check *check);
void vv_hash_route_bench(struct vv_bench *bench);
