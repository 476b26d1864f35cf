/*
 * attend_window: softmax attention of the window's rows over the newest rows of their sequences and
 * over pooled rows, one vector of `width` values being key and value of all heads, with a sink
 * (spec of deepseek4, 3.3.4).
 *
 *   y[r][h] = softmax over the keys j of (scale · q[r][h] · k_j), with sink_h beside them · k_j
 *
 * A row at position p sees the positions p - span + 1 (or 0) .. p, then, of the pooled rows of
 * complete blocks b < (p + 1) div ratio, those listed, or without a list all, ascending. The sink
 * takes part in the sum alone. Rows of the window are in `own`; older ones in the ring.
 *
 * Order (docs/arithmetic.md, section 5): as attend, with two runs, each with chunks of its own. A
 * slot is a position in the first, in the second the block's number, or its ordinal in the list;
 * the sink is merged last as a chunk with m_c = sink, l_c = 1, o_c = 0; y = o · (1 / l). F16
 * entries are widened exactly; rows of the window count as they are, so that what a ring rounds has
 * to be rounded in `own`, too.
 *
 * A chunk whose l_c is NaN is VV_ERROR_NOT_FINITE; a listed block that the row does not see is
 * VV_ERROR_INVALID. A unit is one (row, head): unit = row · heads + head.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_attend_window {
    const float *q;              /* [rows][heads][width] normed and rotated */
    const float *own;            /* [rows][width] */
    struct vv_state_view ring;   /* F32 or F16, of the span - 1 positions before the window */
    struct vv_state_view pooled; /* F32 or F16, an entry for each `ratio` tokens; or no base */
    const int32_t *list;         /* [rows][keep] blocks, ascending, as top_k leaves them; or NULL */
    const int32_t *listed;       /* [rows] */
    size_t keep, ratio;
    size_t span;       /* positions, 1 or more */
    const float *sink; /* [heads] */
    float *y;          /* [rows][heads · width] */
    size_t heads, width;
    float scale;
    const struct vv_window *window;
    struct vv_rows rows; /* the window's */
};

extern const struct vv_operation vv_attend_window;
