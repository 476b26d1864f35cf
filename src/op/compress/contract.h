/*
 * compress: pools the rows of a block of `ratio` tokens, each channel weighted by a softmax of its
 * own (spec of deepseek4, 3.4). A row at position p completes the block b = p div ratio if p + 1 is
 * a multiple of `ratio`; other rows do nothing. From K_t = k and G_t = g + ape[t mod ratio],
 *
 *     row[d] = sum over candidates of K · exp(G - m) / sum of exp(G - m),    m the largest G,
 *
 * over the block's tokens t, channel d. With `overlap` rows have 2 · width channels: the candidates
 * are the tokens of the block before, channel d, then those of the block, channel width + d; block
 * 0 has the latter alone. Then norm (as rms_norm) and rotation of the last `dims` values, as
 * rope_pairs, at the block's first position.
 *
 * k and g come from the window's rows, those before it from the ring; so a row does not depend on
 * how the tokens were cut into windows.
 *
 * Order, each channel alone, candidates in ascending position: G one sum, m, e = exp(G - m), s = s
 * + e and o = fma(e, K, o) from +0; y = o · (1 / s). squares = float dot of y with itself
 * (docs/arithmetic.md, section 4), inverse = 1 / sqrt(squares / (float)width + eps), y = (y ·
 * inverse) · norm; pairs as rope_pairs has them.
 *
 * Squares that are not finite are VV_ERROR_NOT_FINITE. A unit is one row.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

enum { VV_COMPRESS_MOST = 256 }; /* candidates */

struct vv_compress_rows {
    const float *k, *g;        /* [rows][channels] */
    struct vv_state_view ring; /* F32: [2][channels], k then g, of as many earlier positions as
                                * there are candidates but one */
    const float *ape;          /* [ratio][channels] */
    const float *norm;         /* [width] */
    const uint64_t *turn;      /* [dims / 2] */
    float *y;                  /* [rows][width]; rows that complete no block are let be */
    const struct vv_window *window;
    struct vv_rows rows;
    size_t ratio, width;
    size_t dims; /* even, at most width */
    float eps;
    bool overlap;
};

extern const struct vv_operation vv_compress_rows;
