/* Decodes a row once and copies it to the other streams: nothing else costs time here. */
#include "op/embed/internal.h"
#include "quant/format.h"

#include <string.h>

static void embed_row(const struct vv_weight *table, size_t token, float *x, size_t streams) {
    size_t width = table->width;
    vv_format(table->type)->decode(table->data + token * table->row_bytes, x, width);
    if (table->scale) {
        float scale = *table->scale;
        for (size_t i = 0; i < width; i++) {
            x[i] *= scale;
        }
    }
    for (size_t s = 1; s < streams; s++) {
        memcpy(x + s * width, x, width * sizeof *x);
    }
}

int vv_embed_once(const void *args, size_t begin, size_t end) {
    const struct vv_embed *a = args;
    for (size_t r = begin; r < end; r++) {
        int32_t token = a->window->token[r];
        if (token < 0 || (size_t)token >= a->table->rows) {
            return VV_ERROR_INVALID;
        }
        embed_row(a->table, (size_t)token, a->x + r * a->streams * a->table->width, a->streams);
    }
    return VV_OK;
}
