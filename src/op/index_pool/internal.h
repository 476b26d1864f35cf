/* The operation's variants and shapes, for this folder alone. */
#pragma once
#include "op/index_pool/contract.h"
#include "registry/check.h"

/* The raw key `distance` positions before row r's own. */
static inline const float *vv_index_raw_key(const struct vv_index_pool *a, size_t r,
                                            size_t distance) {
    int32_t row = vv_window_back(a->window, (int32_t)r, (int32_t)distance);
    if (row >= 0) {
        return a->k + (size_t)row * a->width;
    }
    return vv_state_at(&a->ring, a->window->slot[r], a->window->position[r] - (int64_t)distance);
}

int vv_index_pool_reference(const void *args, size_t begin, size_t end);
int vv_index_pool_portable(const void *args, size_t begin, size_t end);
int vv_index_pool_portable_avx2(const void *args, size_t begin, size_t end);
int vv_index_pool_portable_avx512(const void *args, size_t begin, size_t end);

struct vv_index_pool_shape {
    size_t ratio, width, dims, calls; /* calls a token */
};
extern const struct vv_index_pool_shape vv_index_pool_shapes[]; /* ends with {0} */

void vv_index_pool_check(struct vv_check *check);
