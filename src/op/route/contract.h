/*
 * The router: which experts serve a row, with which weights, and the rows of each expert.
 *
 * route. The `used` largest logits of a row are selected, larger logit first, lower expert on ties
 * (docs/arithmetic.md, section 8), and listed in ascending expert. Their weights are the softmax
 * over the selected logits in that order (section 5): m = the largest, e_j = exp(l_j - m), weight_j
 * = e_j · (1 / float sum of e). A softmax over all experts, renormalised over the selected, is the
 * same number (spec of qwen4exp, 4.8); this form needs no sum over the others. A NaN logit, or a
 * largest logit that is infinite, is VV_ERROR_NOT_FINITE. A unit is one row.
 *
 * route_group. Turns the rows' experts into each expert's rows: integers only. An expert number
 * outside 0 .. experts - 1 is VV_ERROR_INVALID. There is one unit.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_route {
    const float *logits; /* [rows][experts] */
    int32_t *expert;     /* [rows][used] ascending */
    float *weight;       /* [rows][used] of those; they sum to 1 */
    struct vv_rows rows;
    size_t experts;
    size_t used; /* 1 .. experts */
};

struct vv_route_group {
    const int32_t *expert; /* [rows][used] */
    struct vv_rows rows;
    size_t experts, used;
    int32_t *active; /* [1 + experts]: how many experts have rows; these, ascending; then -1 */
    int32_t *begin;  /* [experts + 1]: expert e has the pairs begin[e] .. begin[e + 1] - 1 */
    int32_t *pair;   /* [rows · used]: row · used + j, ascending within an expert */
};

extern const struct vv_operation vv_route, vv_route_group;
