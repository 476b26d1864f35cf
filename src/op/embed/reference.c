/* The formula of contract.h: every stream decoded for itself. */
#include "op/embed/internal.h"
#include "quant/format.h"

int vv_embed_reference(const void *args, size_t begin, size_t end) {
    const struct vv_embed *a = args;
    const struct vv_weight *table = a->table;
    for (size_t r = begin; r < end; r++) {
        int32_t token = a->window->token[r];
        if (token < 0 || (size_t)token >= table->rows) {
            return VV_ERROR_INVALID;
        }
        for (size_t s = 0; s < a->streams; s++) {
            float *x = a->x + (r * a->streams + s) * table->width;
            vv_format(table->type)
                ->decode(table->data + (size_t)token * table->row_bytes, x, table->width);
            for (size_t i = 0; i < table->width && table->scale; i++) {
                x[i] = x[i] * table->scale[0];
            }
        }
    }
    return VV_OK;
}
