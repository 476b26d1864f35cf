/*
 * An order of blocks in which four rows lie side by side: block b of rows 4g .. 4g + 3, then block
 * b + 1 of the same four. The last rows of a slice, if fewer than four, lie so among themselves, so
 * the bytes are as many as in the file.
 */
#pragma once
#include "quant/row_dot.h"

extern const struct vv_layout vv_layout_rows4;

static inline struct vv_weight_row vv_weight_row_in_fours(const struct vv_weight *w, size_t slice,
                                                          size_t row) {
    size_t first = row / 4 * 4, together = w->rows - first < 4 ? w->rows - first : 4;
    size_t block = vv_format(w->type)->block_bytes;
    const uint8_t *group = w->data + (slice * w->rows + first) * w->row_bytes;
    return (struct vv_weight_row){w->type, group + (row - first) * block, together * block,
                                  w->width};
}
