/*
 * conv1d: a causal dilated convolution along the sequence, each channel on its own; its silu and
 * the branch `p` beside it go onto the residual streams. At position t, with D = dilation, K =
 * kernel:
 *
 *     acc  = fma(w[c][m], x_(t − D(K−1−m))[c], acc)    m = 0 .. K−1, oldest tap first, from +0
 *     onto = onto + (p + silu(acc))
 *
 * Taps before the sequence's start count as +0 (leaving them out is the same, since they come
 * first). A unit is one row.
 *
 * x of the window's rows is read from `x`, older ones from `history`; whether cache_write has
 * stored the window's rows already makes no difference if the ring holds D(K−1) positions more than
 * a window.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_conv1d {
    const float *x;               /* [rows][channels] */
    struct vv_state_view history; /* ring of x by position, F32 [channels] an entry */
    const float *weight;          /* [channels][kernel] */
    const float *p;               /* [rows][channels] */
    float *onto;                  /* [rows][channels], in place */
    const struct vv_window *window;
    struct vv_rows rows; /* the window's */
    size_t channels, kernel, dilation;
};

extern const struct vv_operation vv_conv1d;

/* Where x lies at `back` positions before the row's, or NULL before the sequence's start. */
VV_BOTH const float *vv_conv1d_input(const struct vv_conv1d *a, size_t row, size_t back) {
    const struct vv_window *w = a->window;
    int64_t position = w->position[row] - (int64_t)back;
    if (position < 0) {
        return NULL;
    }
    int32_t in_window = vv_window_back(w, (int32_t)row, (int32_t)back);
    return in_window >= 0 ? a->x + (size_t)in_window * a->channels
                          : (const float *)vv_state_at(&a->history, w->slot[row], position);
}
