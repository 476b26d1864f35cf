/*
 * The routed experts of a mixture and the sum of their outputs (spec of qwen4exp, 4.8, steps 3 to
 * 5). A pair is a row and one of the experts it uses: pair = row · used + j, experts ascending in
 * j. `active`, `begin` and `pair` are what route_group leaves: the experts that have rows, and each
 * one's pairs.
 *
 * expert_up:   h[pair] = silu(gate_e · u[row]) ⊙ (up_e · u[row]), with a limit L of
 *                        silu(min(gate, L)) ⊙ min(max(up, -L), L), times the pair's weight
 * expert_down: y[pair] = down_e · h[pair]
 * expert_sum:  o[row] = sum over j of weight[row][j] · y[row · used + j]
 *                       + sigmoid(shared_gate[row]) · shared[row]
 *
 * Order. Products are gemv's, of slice e of the weight: docs/arithmetic.md, section 2, with the
 * planes that the format takes, then · the slice's separate scale if there is one. h = (g ·
 * sigmoid(g)) · (up product), then · weight; g and up were cut at the limit before. expert_sum, per
 * element: sum = fma(weight_j, y_j, sum) from +0, j ascending; then o = fma(sigmoid(shared_gate),
 * shared, sum). What is not given counts as 1: a weight, a shared gate's sigmoid.
 *
 * A product that is not finite is VV_ERROR_NOT_FINITE. Units: expert_up one row of hidden of one
 * active expert, for all its pairs; expert_down the same of its output; unit = i · hidden (width) +
 * output for the i-th active expert. expert_sum one row.
 */
#pragma once
#include "quant/planes.h"
#include "quant/weight.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_expert_up {
    struct vv_planes u;          /* [rows] */
    struct vv_weight *gate, *up; /* slices = experts; one fused weight may be both */
    size_t up_row;               /* where up's rows begin in it; else 0 */
    size_t hidden;               /* rows of gate, and of up */
    const int32_t *active;       /* [1 + experts] count, then experts */
    const int32_t *begin;        /* [experts + 1] */
    const int32_t *pair;         /* [rows · used] */
    size_t used;
    float *h; /* [rows · used][hidden] */
    struct vv_rows rows;
    float limit;         /* 0: none */
    const float *weight; /* [rows · used]; or NULL */
};

struct vv_expert_down {
    struct vv_planes h; /* [rows · used] */
    struct vv_weight *down;
    const int32_t *active, *begin, *pair;
    float *y; /* [rows · used][width] */
    size_t width;
    struct vv_rows rows;
    size_t used;
};

struct vv_expert_sum {
    const float *y;           /* [rows · used][width] */
    const float *weight;      /* [rows][used]; or NULL */
    const float *shared;      /* [rows][width] */
    const float *shared_gate; /* [rows] before the sigmoid; or NULL */
    float *o;                 /* [rows][width] */
    struct vv_rows rows;
    size_t used, width;
};

extern const struct vv_operation vv_expert_up, vv_expert_down, vv_expert_sum;
