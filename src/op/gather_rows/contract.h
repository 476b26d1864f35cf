/*
 * gather_rows: to_r = from_index(r), copies of whole rows; without an index row r itself. An index
 * outside the rows of `from` is VV_ERROR_INVALID. A unit is one row of `to`.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_gather_rows {
    const void *from; /* [from_rows][row_bytes] */
    void *to;         /* [rows][row_bytes]; does not overlap `from` */
    size_t row_bytes;
    const int32_t *index; /* [rows], in the window's memory; NULL: row r itself */
    struct vv_rows rows;
    struct vv_rows from_rows;
};

extern const struct vv_operation vv_gather_rows;
