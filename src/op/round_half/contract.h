/*
 * round_half: a row's values to half floats, to nearest even, and back, in place: what a cache of
 * half floats will give, so that rows of a window count as they do once they are in it. A value
 * that would not be finite is VV_ERROR_NOT_FINITE. A unit is one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_round_half {
    float *x; /* [rows][width] */
    size_t width;
    struct vv_rows rows;
};

extern const struct vv_operation vv_round_half;
