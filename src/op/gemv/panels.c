/* By panels of sixteen outputs (quant/panel/panel.h); compiled for each set that has a kernel. */
#include "base/finite.h"
#include "base/isa.h"
#include "op/gemv/internal.h"
#include "quant/panel/products.h"

int VV_ISA(vv_gemv_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_gemv *a = args;
    size_t rows = vv_rows(a->rows), count = end - begin;
    float *y = a->y + begin;
    vv_products(&VV_ISA(vv_panel_kernel), a->weight, 0, begin, count, &a->x, rows, 0, rows, y,
                a->y_row);
    for (size_t r = 0; r < rows; r++, y += a->y_row) {
        if (a->weight->scale) {
            for (size_t i = 0; i < count; i++) {
                y[i] *= *a->weight->scale;
            }
        }
        if (!vv_all_finite(y, count)) {
            return VV_ERROR_NOT_FINITE;
        }
    }
    return VV_OK;
}
