/*
 * hyper_read: what a block reads from the R residual streams of a row (hyper-connections, Zhu et
 * al. 2024, with a low-rank gate a value). Three operations, since each needs all of the one
 * before; R is `streams` and N `width`, and every division is by (float)R. Weights are ready to
 * multiply.
 *
 * hyper_norm, first the write of the block before, where there was one, then a norm of each stream:
 *
 *     x_s,i = fma(gamma_s, o_i, x_s,i)                             onto the streams themselves
 *     inv   = 1 / sqrt(dot(x_s, x_s) / (float)N + eps)             each stream its own
 *     h_s,i = (x_s,i · inv) · weight_s,i                           one rounding an operation
 *
 * hyper_down, with H the N · R values of h:
 *
 *     a_j     = silu(y_j / R)          y = W_down H, the division before the silu
 *     gamma_s = 2 · sigmoid(z_s / R)   z = W_inject H, for this block's own write
 *
 * hyper_up:
 *
 *     m_s,i = sigmoid(y_sN+i)                          y = W_up a
 *     u_i   = (fma over s, ascending, from +0, of m_s,i and h_s,i) / R
 *
 * so u is the mean over the streams of their gated norms. dot is section 4 of docs/arithmetic.md,
 * the products of weights are gemv's, its separate scale included. A sum or a product of weights
 * that is infinite or NaN is VV_ERROR_NOT_FINITE.
 */
#pragma once
#include "quant/planes.h"
#include "registry/operation.h"
#include "registry/window.h"

/* A unit is one stream of one row. */
struct vv_hyper_norm {
    float *x;            /* [rows][streams][width], in place */
    const float *o;      /* [rows][width], or NULL: nothing to write, x stays */
    const float *gamma;  /* [rows][streams], where o is */
    const float *weight; /* [streams][width] */
    float *h;            /* [rows][streams][width] */
    struct vv_rows rows;
    size_t streams, width;
    float eps; /* inside the root; positive */
};

/* A unit is one output, first those of `down`, then those of `inject`, of all rows. */
struct vv_hyper_down {
    struct vv_planes h;       /* [rows] of streams * width values */
    struct vv_weight *down;   /* [rank][streams * width] */
    struct vv_weight *inject; /* [streams][streams * width], or NULL: no block writes */
    float *a;                 /* [rows][rank] */
    float *gamma;             /* [rows][streams], where inject is */
    struct vv_rows rows;
    size_t streams;
};

/* A unit is one value of u, of all rows. */
struct vv_hyper_up {
    struct vv_planes a;   /* [rows] of rank values */
    struct vv_weight *up; /* [streams * width][rank] */
    const float *h;       /* [rows][streams][width] */
    float *u;             /* [rows][width] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_hyper_norm;
extern const struct vv_operation vv_hyper_down;
extern const struct vv_operation vv_hyper_up;
