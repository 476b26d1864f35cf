/*
 * index_pool: the key of a complete block of tokens. A row at position p completes the block
 * b = p div ratio if p + 1 is a multiple of `ratio`; other rows do nothing. With the block's raw
 * keys k_t, t = p - ratio + 1 .. p, and f = p - ratio + 1 its first position:
 *
 *   entry b of the slot's pooled keys = rope_f(rms_norm(mean over t of k_t, norm))
 *
 * pool, then norm, then rotation at the block's first position (spec of qwen4exp, 4.7.2). Raw keys
 * come from the window's rows, those before it from the ring; so the entry does not depend on how
 * the tokens were cut into windows.
 *
 * Order. m_i: from +0 the k_t,i added in ascending t, then one division by (float)ratio. Norm as in
 * rms_norm: squares = float dot of m with itself (docs/arithmetic.md, section 4), inv = 1 /
 * sqrt(squares / (float)width + eps), y_i = (m_i · inv) · norm_i. Rotation of the first `dims`
 * values, pairs (i, j = i + dims / 2), sine and cosine of the turn f · turn_i (section 7):
 * y_i' = fma(y_i, cos, -(y_j · sin)), y_j' = fma(y_j, cos, y_i · sin).
 *
 * Squares that are not finite are VV_ERROR_NOT_FINITE. A unit is one row.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_index_pool {
    const float *k;              /* [rows][width] raw keys */
    struct vv_state_view ring;   /* F32: the raw keys of at least ratio - 1 earlier positions */
    struct vv_state_view pooled; /* F32 rows of `width`, one a block */
    const float *norm;           /* [width] */
    const uint64_t *turn;        /* [dims / 2] fractions of a turn a position, times 2^64 */
    size_t dims, width;          /* dims even, at most width */
    const struct vv_window *window;
    struct vv_rows rows;
    size_t ratio; /* tokens a block, 1 or more */
    float eps;    /* inside the root */
};

extern const struct vv_operation vv_index_pool;
