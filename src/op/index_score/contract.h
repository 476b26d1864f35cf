/*
 * index_score: how much a row's index queries want each block of keys.
 *
 *   score[r][b] = sum over heads h of max(0, z_h) · w_h,   z_h = q[r][h] · key_b
 *
 * for the complete blocks b < B = (p + 1) div ratio that a row at position p sees, and only for
 * rows with B > keep (others attend to everything). What lies beyond B, or in other rows, is let
 * be.
 *
 * Order (docs/arithmetic.md, section 6), heads ascending from sum = +0. With weights w_h =
 * weight[r][h] · scale, rounded first, and sum = fma(max(z_h, 0), w_h, sum); without them sum = sum
 * + max(z_h, 0), and one product with the scale at the end. A NaN stays NaN: top_k refuses it.
 *
 * Three operations take the same args and differ in z_h:
 *
 * index_score: the float dot of section 4, key times query, of the values, widened exactly.
 * index_score_half: the same of values that are rounded to half first, to nearest even.
 * index_score_integer: vectors are MXFP4 rows, 32 codes under one power of two each. From z = +0,
 *     blocks ascending, z = fma(step_q · step_k, (float)dot, z), where dot is the integer product
 *     of doubled codes (|dot| <= 4,608), step = 2^(e - 128) of each vector, their product rounded
 *     where it leaves the range of floats.
 *
 * A unit is 64 blocks of one row: unit = chunk · rows + row, so that neighbours share keys. There
 * are as many chunks as the row with the most blocks needs.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

enum { VV_INDEX_WIDTH_MAX = 512 };

struct vv_index_score {
    const void *q;               /* [rows][heads] vectors of `width` values, rotated */
    int q_type;                  /* VV_TYPE_F32 (0) or VV_TYPE_MXFP4 */
    struct vv_state_view pooled; /* F32, F16 or MXFP4: a vector of `width` values a block */
    const float *weight;         /* [rows][heads]; or NULL: every head counts once */
    float *score;                /* [rows][stride] */
    size_t stride;               /* floats, at least B of every row with more than `keep` */
    size_t heads;
    size_t width; /* at most VV_INDEX_WIDTH_MAX; with MXFP4 vectors a multiple of 32 */
    size_t ratio; /* tokens a block */
    size_t keep;  /* blocks that are selected */
    float scale;
    const struct vv_window *window;
    struct vv_rows rows;
};

extern const struct vv_operation vv_index_score, vv_index_score_half, vv_index_score_integer;

/* What --index-score names. */
enum vv_index_arithmetic {
    VV_INDEX_AUTO, /* integer where vectors are MXFP4, else float */
    VV_INDEX_INTEGER,
    VV_INDEX_HALF,
    VV_INDEX_FLOAT,
};

/* The operation of an arithmetic other than VV_INDEX_AUTO. */
const struct vv_operation *vv_index_score_by(enum vv_index_arithmetic arithmetic);
