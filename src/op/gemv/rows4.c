#include "op/gemv/rows4.h"

#include <string.h>

static size_t bytes(const struct vv_weight *w) {
    return w->slices * w->rows * w->row_bytes;
}

static void pack(const struct vv_weight *w, void *to) {
    struct vv_weight packed = *w;
    packed.data = to;
    size_t block = vv_format(w->type)->block_bytes;
    for (size_t slice = 0; slice < w->slices; slice++) {
        for (size_t row = 0; row < w->rows; row++) {
            struct vv_weight_row from = vv_weight_row(w, slice, row);
            struct vv_weight_row at = vv_weight_row_in_fours(&packed, slice, row);
            uint8_t *out = (uint8_t *)to + (at.at - packed.data);
            for (size_t b = 0; b < w->row_bytes / block; b++) {
                memcpy(out + b * at.stride, from.at + b * from.stride, block);
            }
        }
    }
}

const struct vv_layout vv_layout_rows4 = {"rows4", bytes, pack};
