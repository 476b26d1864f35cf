/*
 * embed: x[r][s][i] = value i of row token[r] of the table, for every stream s: the residual
 * streams of a token start as copies of its embedding. Any format, decoded exactly; where the table
 * has a separate scale, value * scale.
 *
 * A token that isn't a row of the table: VV_ERROR_INVALID. A unit is one row.
 */
#pragma once
#include "quant/weight.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_embed {
    const struct vv_window *window; /* its tokens */
    struct vv_rows rows;            /* at most the window's */
    struct vv_weight *table;        /* [vocabulary][width], one slice */
    float *x;                       /* [rows][streams][width] */
    size_t streams;                 /* 1 or more */
};

extern const struct vv_operation vv_embed;
