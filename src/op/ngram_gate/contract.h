/*
 * ngram_gate: how much of the n-gram embedding's value each residual stream takes. For each stream
 *
 *     d  = dot(k, q) / sqrt((float)width)              docs/arithmetic.md section 4
 *     d' = sign(d) · sqrt(max(|d|, 1e-6))              sign(0) = 0
 *     p_i = sigmoid(d') · v_i
 *
 * k and q are normed already, each stream on its own. The division, both roots, the sigmoid and the
 * product round once each (1e-6 is the nearest float). A dot that is infinite or NaN is
 * VV_ERROR_NOT_FINITE. A unit is one stream of one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_ngram_gate {
    const float *k, *q; /* [rows][streams][width] */
    const float *v;     /* [rows][width] */
    float *p;           /* [rows][streams][width] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_ngram_gate;
