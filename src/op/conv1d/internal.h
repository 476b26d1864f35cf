/* The ways to compute the operation, its check, and what they share. */
#pragma once
#include "op/conv1d/contract.h"
#include "registry/check.h"

int vv_conv1d_reference(const void *args, size_t begin, size_t end);
int vv_conv1d_portable(const void *args, size_t begin, size_t end);
int vv_conv1d_portable_avx2(const void *args, size_t begin, size_t end);
int vv_conv1d_portable_avx512(const void *args, size_t begin, size_t end);
void vv_conv1d_check(struct vv_check *check);

/* Where x lies at `back` positions before the row's, or NULL before the sequence's start. */
static inline const float *vv_conv1d_input(const struct vv_conv1d *a, size_t row, size_t back) {
    const struct vv_window *w = a->window;
    int64_t position = w->position[row] - (int64_t)back;
    if (position < 0) {
        return NULL;
    }
    int32_t in_window = vv_window_back(w, (int32_t)row, (int32_t)back);
    return in_window >= 0 ? a->x + (size_t)in_window * a->channels
                          : vv_state_at(&a->history, w->slot[row], position);
}
