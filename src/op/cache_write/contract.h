/*
 * cache_write: keeps a value of each row of the window in its sequence's state, as the entry of the
 * row's position (plus `shift`); or, of rows that complete `every` tokens, as the entry that stands
 * for those. F32 and I32 are copied; into F16 each float is rounded once, to
 * nearest even, and an entry that would not be finite is VV_ERROR_NOT_FINITE.
 *
 * A ring holds the newest `ring` positions: rows of the window that newer rows of their sequence
 * push out again are left out, so that no order of the rows shows. A unit is one row.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_cache_write {
    const void *from;        /* floats or int32 of a row at from + row * row_stride elements */
    size_t row_stride;       /* elements of 4 bytes */
    struct vv_state_view to; /* F32, F16 or I32; a ring, or an entry for every position */
    const struct vv_window *window;
    struct vv_rows rows; /* the window's */
    const void *second;  /* NULL; or, laid out as `from`, the second half of each entry */
    int32_t shift;       /* 0; 1: the row leaves what its sequence's next row starts from */
    int32_t every;       /* 0; or a row at position p becomes entry (p + 1) / every - 1, if that is
                          * a whole number; no ring, no shift */
};

extern const struct vv_operation vv_cache_write;
