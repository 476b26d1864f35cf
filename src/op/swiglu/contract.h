/*
 * swiglu: h = (gate * sigmoid(gate)) * up, element by element. Order: sigmoid as in base/math.h,
 * one product with gate (their silu), one product with up. With a limit L, min(gate, L) stands for
 * gate and min(max(up, -L), L) for up; a NaN stays.
 *
 * Extremes follow from the operations: a gate below -104 gives -0 * up, an infinite one NaN or
 * infinity; the products that take h find what isn't finite. A unit is 128 values of
 * the rows laid end to end.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

enum { VV_SWIGLU_UNIT = 128 };

struct vv_swiglu {
    const float *gate; /* [rows][width] */
    const float *up;   /* [rows][width] */
    float *h;          /* [rows][width]; may be gate or up */
    struct vv_rows rows;
    size_t width; /* any, 1 or more */
    float limit;  /* 0: none */
};

extern const struct vv_operation vv_swiglu;
