/*
 * hyper_write: what a block computed goes onto every residual stream, each with its own factor
 * (hyper-connections, Zhu et al. 2024): x_s,i = fma(gamma_s, o_i, x_s,i), onto the streams
 * themselves, not onto their norms. A unit is one row.
 *
 * Between two blocks hyper_norm does the same on its way; this serves the last block.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_hyper_write {
    float *x;           /* [rows][streams][width], in place */
    const float *o;     /* [rows][width] */
    const float *gamma; /* [rows][streams] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_hyper_write;
