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

/* One candidate: [width] of each. */
struct vv_candidate {
    const float *k, *g, *ape;
};

/* How many a row has that completes a block. */
VV_BOTH size_t vv_compress_most(const struct vv_compress_rows *a, size_t row) {
    bool both = a->overlap && (size_t)a->window->position[row] >= a->ratio;
    return both ? 2 * a->ratio : a->ratio;
}

/* That of the position `distance` before the row's, which is row `at` of the window; -1: it is in
 * the ring. */
VV_BOTH struct vv_candidate vv_compress_candidate(const struct vv_compress_rows *a, size_t row,
                                                  size_t distance, int32_t at) {
    int64_t p = a->window->position[row] - (int64_t)distance;
    size_t channels = a->overlap ? 2 * a->width : a->width;
    size_t half = a->overlap && distance < a->ratio ? a->width : 0;
    const float *held =
        at < 0 ? (const float *)vv_state_at(&a->ring, a->window->slot[row], p) : NULL;
    struct vv_candidate c;
    c.k = (held ? held : a->k + (size_t)at * channels) + half;
    c.g = (held ? held + channels : a->g + (size_t)at * channels) + half;
    c.ape = a->ape + (size_t)(p % (int64_t)a->ratio) * channels + half;
    return c;
}
