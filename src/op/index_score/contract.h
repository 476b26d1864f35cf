/*
 * index_score: how much a row's index queries want each block of keys.
 *
 *   score[r][b] = scale · sum over heads h of max(0, q[r][h] · key_b)
 *
 * for the complete blocks b < B = (p + 1) div ratio that a row at position p sees, and only for
 * rows with B > keep (others attend to everything). What lies beyond B, or in other rows, is let
 * be.
 *
 * Order (docs/arithmetic.md, section 6, *float*): z_h is the float dot of section 4 (key times
 * query); from +0, heads ascending, sum = sum + max(z_h, 0), a NaN staying NaN; score = sum ·
 * scale. A NaN is passed on: top_k refuses it.
 *
 * A unit is 64 blocks of one row: unit = chunk · rows + row, so that neighbours share keys. There
 * are as many chunks as the row with the most blocks needs.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_index_score {
    const float *q;              /* [rows][heads][width] normed and rotated */
    struct vv_state_view pooled; /* F32 rows of `width`, one a block, as index_pool stores them */
    float *score;                /* [rows][stride] */
    size_t stride;               /* floats, at least B of every row with more than `keep` */
    size_t heads, width;
    size_t ratio; /* tokens a block */
    size_t keep;  /* blocks that are selected */
    float scale;
    const struct vv_window *window;
    struct vv_rows rows;
};

extern const struct vv_operation vv_index_score;
