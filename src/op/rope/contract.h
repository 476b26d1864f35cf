/*
 * rope: rotates the first `dims` values of each head by angles that grow with the row's position
 * (Su et al. 2021), in place. Value i turns with value j = i + dims / 2, i = 0 .. dims / 2 - 1 (not
 * with its neighbour); values from `dims` on stay.
 *
 *     phase = (uint64)position · turn_i, wrapping     (s, c) = vv_sincos_turn(phase)
 *     x_i'  = fma(x_i, c, −(x_j · s))                 x_j'   = fma(x_j, c, x_i · s)
 *
 * turn_i is vv_rotary_turn's (base/rotary.h). A unit is one head of one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_rope {
    float *x;                              /* [dims] at x + row * row_stride + head * head_stride */
    struct vv_rows rows;                   /* the window's */
    const struct vv_window *window;        /* positions */
    size_t heads, row_stride, head_stride; /* strides in floats */
    size_t dims;                           /* even */
    const uint64_t *turn;                  /* [dims / 2] 2^-64 of a turn a position */
};

extern const struct vv_operation vv_rope;
