/*
 * mtp_wide: the trunk's streams that a draft row starts from (specification 5.1).
 *
 * Row r of the draft block's window is at position j of its sequence and pairs the trunk's streams
 * of position j with the token of position j + 1. Those streams are row source[r] of the trunk's
 * buffer when position j was in the trunk's last window, else they are in the sequence's ring,
 * where the trunk (or the draft before this one) left them. A copy: bits stay.
 *
 * A unit is one row.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_mtp_wide {
    const float *wide;         /* [rows of the trunk's window][width] */
    size_t wide_rows;          /* of that buffer, at most */
    struct vv_state_view ring; /* by position */
    float *h;                  /* [rows][width] */
    const struct vv_window *window;
    struct vv_rows rows;
    size_t width; /* streams * hidden size */
};

extern const struct vv_operation vv_mtp_wide;
