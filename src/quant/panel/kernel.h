/*
 * What the kernels of all instruction sets write alike: functions of type vv_panel_dots out of a
 * macro CALL(k), which does rows i … i + k - 1 and whose loops over them are unrolled.
 */
#pragma once
#include "quant/panel/panel.h"

/* BATCHES(CALL) sets i and calls CALL until it is n. */
#define VV_PANEL_DOTS(name, BATCHES, CALL)                                                         \
    static void name(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,     \
                     const struct vv_panel_row *x, size_t n, float(*total)[VV_PANEL_ROWS]) {       \
        (void)f;                                                                                   \
        (void)values;                                                                              \
        BATCHES(CALL)                                                                              \
    }

/* Rows from i on, in fours, then what is left. */
#define VV_IN_FOURS(CALL)                                                                          \
    for (; i + 4 <= n; i += 4) {                                                                   \
        CALL(4);                                                                                   \
    }                                                                                              \
    if (i + 2 <= n) {                                                                              \
        CALL(2);                                                                                   \
        i += 2;                                                                                    \
    }                                                                                              \
    if (i < n) {                                                                                   \
        CALL(1);                                                                                   \
    }

/* The table of functions with these names. */
#define VV_PANEL_TABLE                                                                             \
    {                                                                                              \
        [VV_PANEL_BLOCK] = block, [VV_PANEL_BLOCK_16] = block_16,                                  \
        [VV_PANEL_BLOCK_OFFSET] = block_offset, [VV_PANEL_SUPER_4_OFFSET] = super_4_offset,        \
        [VV_PANEL_SUPER_8] = super_8, [VV_PANEL_SUPER_8_OFFSET] = super_8_offset                   \
    }
