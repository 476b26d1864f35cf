/*
 * hash_route: the router of DeepSeek V4 (spec of deepseek4, 3.6). An expert's score is
 *
 *     s_e = sqrt(softplus(logit_e))
 *
 * The experts of a row are those that a table lists for its token, or without a table the `used`
 * ones of largest s_e + bias_e, larger first, lower expert on ties (docs/arithmetic.md, section 8).
 * They are listed in ascending number. Their weights have no bias in them:
 *
 *     weight_j = s_j · (scale / max(float sum of s, 2^-14)), the sum of section 4 over the list
 *
 * A logit that is not finite (with a table: of a listed expert), or a bias that is NaN, is
 * VV_ERROR_NOT_FINITE; a token outside the table, or an expert outside the model there,
 * VV_ERROR_INVALID. A unit is one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_hash_route {
    const float *logits;            /* [rows][experts] */
    const float *bias;              /* [experts]; NULL with a table */
    const int32_t *table;           /* [tokens][used]; or NULL */
    size_t tokens;                  /* rows of the table */
    const struct vv_window *window; /* tokens of the rows */
    float *score;                   /* [rows][experts] for s + bias; NULL with a table */
    int32_t *expert;                /* [rows][used] ascending */
    float *weight;                  /* [rows][used] of those */
    struct vv_rows rows;            /* the window's */
    size_t experts;
    size_t used; /* 1 .. experts */
    float scale;
};

extern const struct vv_operation vv_hash_route;
