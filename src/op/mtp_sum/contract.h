/*
 * mtp_sum: adds what was made of a row's next token to each of its streams, x_r,s = x_r,s + e_r, in
 * place: the draft block whose projections of embedding and hidden streams lie apart (spec of
 * deepseek4, 3.8). A unit is one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_mtp_sum {
    const float *e; /* [rows][width] */
    float *x;       /* [rows][streams][width] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_mtp_sum;
