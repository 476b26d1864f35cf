/* The operations' variants and shapes, for this folder alone. */
#pragma once
#include "registry/check.h"

int vv_route_reference(const void *args, size_t begin, size_t end);
int vv_route_portable(const void *args, size_t begin, size_t end);
int vv_route_portable_avx2(const void *args, size_t begin, size_t end);
int vv_route_portable_avx512(const void *args, size_t begin, size_t end);

int vv_route_group_reference(const void *args, size_t begin, size_t end);
int vv_route_group_portable(const void *args, size_t begin, size_t end);

struct vv_route_shape {
    size_t experts, used, calls; /* calls a token */
};
extern const struct vv_route_shape vv_route_shapes[]; /* ends with {0} */

void vv_route_check(struct vv_check *check);
