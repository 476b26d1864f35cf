/*
 * mtp_join: the draft head's projection takes the embedding of a row's next token beside each of
 * its hidden streams, the embedding first: y_r,s = (e_r, h_r,s). Copies only. A unit is one stream
 * of one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_mtp_join {
    const float *e; /* [rows][width] */
    const float *h; /* [rows][streams][width] */
    float *y;       /* [rows][streams][2 * width] */
    struct vv_rows rows;
    size_t streams, width;
};

extern const struct vv_operation vv_mtp_join;
