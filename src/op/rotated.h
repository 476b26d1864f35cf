/* What rotations of heads in place touch: heads of `dims` values, and the angles. */
#pragma once
#include "op/buffers.h"
#include "registry/window.h"

struct vv_rotated {
    float *x; /* [dims] at x + row * row_stride + head * head_stride */
    size_t rows, heads, row_stride, head_stride, dims;
    const uint64_t *turn; /* [dims / 2] */
};

static inline size_t vv_rotated_buffers(struct vv_rotated r, struct vv_buffer *out) {
    if (out) {
        size_t within = (r.heads - 1) * r.head_stride + r.dims;
        out[0] = vv_updates(r.x, vv_extent(r.rows, r.row_stride, within) * sizeof(float));
        out[1] = vv_reads(r.turn, r.dims / 2 * sizeof(uint64_t));
    }
    return 2;
}
