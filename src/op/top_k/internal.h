/* The operation's variants and shapes, for this folder alone. */
#pragma once
#include "registry/check.h"

int vv_top_k_reference(const void *args, size_t begin, size_t end);
int vv_top_k_portable(const void *args, size_t begin, size_t end);
int vv_top_k_portable_avx2(const void *args, size_t begin, size_t end);
int vv_top_k_portable_avx512(const void *args, size_t begin, size_t end);

struct vv_top_k_shape {
    size_t blocks, keep, calls; /* blocks in the longest context; calls a token */
};
extern const struct vv_top_k_shape vv_top_k_shapes[]; /* ends with {0} */

void vv_top_k_check(struct vv_check *check);
