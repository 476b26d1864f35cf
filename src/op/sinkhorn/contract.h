/*
 * The hyper-connections of DeepSeek V4: R streams of N values are a row's residual state X; a
 * sub-block reads one vector that is made of them, and what it gives is written back while the
 * streams are mixed by a matrix whose rows and columns sum to nearly 1 (spec of deepseek4, 3.2).
 *
 * sinkhorn: from mix = fn · (X as one vector), R + R + R·R numbers,
 *
 *     m_i      = mix_i / sqrt(mean of all R·N squares of X + eps)
 *     pre[s]   = sigmoid(m_s · scale_0 + base_s) + floor
 *     post[s]  = 2 · sigmoid(m_(R+s) · scale_1 + base_(R+s))
 *     C[s][t]  = m_(2R+R·s+t) · scale_2 + base_(2R+R·s+t); softmax of each row, + floor; then the
 *                columns, and rounds - 1 times the rows and the columns, divided by their sum +
 *                floor. s is the source, t the destination.
 *
 * With post NULL mix has R numbers, of which pre is made: a model's last contraction.
 *
 * stream_read:  u = sum over s of pre[s] · X_s.
 * stream_write: X_t = sum over s of C[s][t] · X_s + post[t] · y, of the X before, in place.
 *
 * Order. squares = float dot of X with itself (docs/arithmetic.md, section 4); inverse = 1 /
 * sqrt(squares / (float)(R·N) + eps); m_i = mix_i · inverse; m · scale + base is one fma. Softmax:
 * less the row's largest, exp, divided by the sum. All sums of R are ascending from +0.
 * stream_read: fma(pre[s], X_s, u), s ascending from +0. stream_write: fma(C[s][t], X_s, x), s
 * ascending from +0, then fma(post[t], y, x).
 *
 * Squares that are not finite are VV_ERROR_NOT_FINITE. Units: sinkhorn one row; the other two 128
 * columns of one row, unit = row · ceil(N / 128) + columns.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

enum { VV_STREAMS_MAX = 16, VV_STREAM_COLUMNS = 128 };

struct vv_sinkhorn {
    const float *x;     /* [rows][streams][width] */
    const float *mix;   /* [rows][2 · streams + streams²], or [rows][streams] */
    const float *scale; /* [3], or [1] */
    const float *base;  /* as a row of mix */
    float *pre;         /* [rows][streams] */
    float *post;        /* [rows][streams]; or NULL */
    float *to;          /* [rows][source][destination]; or NULL, with post */
    struct vv_rows rows;
    size_t streams, width; /* 1 … VV_STREAMS_MAX; any */
    size_t rounds;         /* 1 or more */
    float eps, floor;
};

struct vv_stream_read {
    const float *x;   /* [rows][streams][width] */
    const float *pre; /* [rows][streams] */
    float *u;         /* [rows][width] */
    struct vv_rows rows;
    size_t streams, width;
};

struct vv_stream_write {
    float *x;          /* [rows][streams][width] */
    const float *post; /* [rows][streams] */
    const float *to;   /* [rows][source][destination] */
    const float *y;    /* [rows][width] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_sinkhorn, vv_stream_read, vv_stream_write;
