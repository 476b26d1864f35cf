/*
 * What a cache keeps of a model that was trained with rounded rows (spec of deepseek4, 3.3.2 and
 * 3.3.3). Both operations give each block one power of two s for a scale: the smallest one that
 * brings the block's largest magnitude A, or a floor if that is larger, to at most the format's
 * largest value. In bits, with A = m · 2^e, 1 <= m < 2: s = 2^(e - 8) if m <= 1.75, else
 * 2^(e - 7), for E4M3 (448 = 1.75 · 2^8); s = 2^(e - 2) if m <= 1.5, else 2^(e - 1), for E2M1
 * (6 = 1.5 · 2^2). Values over s are exact and round to the nearest code, to the even one of two.
 *
 * round_fp8: the first `width` values of a row, in place, as blocks of 64 (the last may be
 * shorter): x = s · E4M3(x / s), 3 bits of mantissa, bias 7, steps of 2^-9 below 2^-6, no
 * infinities. Floor of A: 1e-4.
 *
 * round_fp4: y = FP4(Hadamard(x)) of every vector. Hadamard: for strides 1, 2, 4 … width / 2 each
 * pair (a, b) that lies a stride apart becomes (a + b, a - b); then each value is multiplied by
 * (float)(1 / sqrt(width)). FP4: blocks of 32 values s · E2M1(x / s), stored as MXFP4 blocks
 * (quant/mxfp4.h). Floor of A: 6 · 2^-126. The sign of a zero is kept.
 *
 * A block whose A is NaN, infinite or 2^80 and more is VV_ERROR_NOT_FINITE. A unit is a row, or a
 * vector of one; a row that doesn't complete a block of `ratio` tokens is let be.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_round_fp8 {
    float *x;      /* [rows] at x + row * stride */
    size_t stride; /* floats */
    size_t width;  /* values of a row that are rounded */
    size_t ratio;  /* 1: every row; else those whose position + 1 is a multiple of it */
    const struct vv_window *window;
    struct vv_rows rows; /* the window's */
};

enum { VV_FP4_WIDTH_MAX = 512 };

struct vv_round_fp4 {
    const float *x; /* [heads][width] at x + row * stride */
    size_t stride;  /* floats */
    size_t heads;
    size_t width;            /* a power of two, 32 … VV_FP4_WIDTH_MAX */
    uint8_t *y;              /* [rows][heads] rows of MXFP4 blocks; NULL: they go to `to` */
    struct vv_state_view to; /* MXFP4; the vector (heads is 1) of a row at position p becomes entry
                              * (p + 1) div ratio - 1 */
    size_t ratio;            /* as above */
    const struct vv_window *window;
    struct vv_rows rows; /* the window's */
};

extern const struct vv_operation vv_round_fp8, vv_round_fp4;
