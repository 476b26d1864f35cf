/*
 * top_k: the blocks of keys that a row attends to. A row at position p sees B = (p + 1) div ratio
 * complete blocks. If B <= keep it lists all of them and its scores are not read; else it lists the
 * `keep` blocks of largest score, larger score first, lower block on ties (docs/arithmetic.md,
 * section 8). Nothing is forced in: no first block, no newest one. The list is ascending; what is
 * left of it beyond `listed` is -1.
 *
 * A NaN among a row's B scores is VV_ERROR_NOT_FINITE. A unit is one row.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_top_k {
    const float *score; /* [rows][stride], the first B of a row count */
    size_t stride;      /* at least the B of every row that has more than `keep` */
    size_t ratio;       /* tokens a block, 1 or more */
    size_t keep;        /* 1 or more */
    int32_t *list;      /* [rows][keep] block numbers */
    int32_t *listed;    /* [rows] how many of them count */
    const struct vv_window *window;
    struct vv_rows rows;
};

extern const struct vv_operation vv_top_k;
