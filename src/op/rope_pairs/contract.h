/*
 * rope_pairs: rotates `dims` values of each head by angles that grow with the row's position (Su et
 * al. 2021), in place, as pairs of neighbours (2i, 2i + 1); or turns them back by the same angles,
 * which makes a weighted sum of rotated rows one of rows rotated by their distance (spec of
 * deepseek4, 3.3.4).
 *
 *     phase    = (uint64)position · turn_i, wrapping     (s, c) = vv_sincos_turn(phase)
 *     x_2i'    = fma(x_2i, c, −(x_2i+1 · s))             x_2i+1' = fma(x_2i+1, c, x_2i · s)
 *
 * and with −s for s if `back`. turn_i as base/rotary.h makes them. A unit is one head of one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_rope_pairs {
    float *x;                              /* [dims] at x + row * row_stride + head * head_stride */
    struct vv_rows rows;                   /* the window's */
    const struct vv_window *window;        /* positions */
    size_t heads, row_stride, head_stride; /* strides in floats */
    size_t dims;                           /* even */
    const uint64_t *turn;                  /* [dims / 2] 2^-64 of a turn a position */
    bool back;
};

extern const struct vv_operation vv_rope_pairs;
