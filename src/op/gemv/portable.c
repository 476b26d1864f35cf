/* One weight row after the other, for all rows of the window (quant/row_dot.h). */
#include "base/isa.h"
#include "op/gemv/internal.h"
#include "quant/row_dot.h"

#include <math.h>

typedef struct vv_weight_row weight_row(const struct vv_weight *w, size_t slice, size_t row);

static int run(const struct vv_gemv *a, weight_row *at, size_t begin, size_t end) {
    size_t rows = vv_rows(a->rows);
    for (size_t o = begin; o < end; o++) {
        struct vv_weight_row w = at(a->weight, 0, o);
        VV_ISA(vv_rows_dot)(&w, &a->x, NULL, rows, a->y + o, a->y_row);
        for (size_t r = 0; r < rows; r++) {
            float *y = a->y + r * a->y_row + o;
            *y = a->weight->scale ? *y * *a->weight->scale : *y;
            if (!isfinite(*y)) {
                return VV_ERROR_NOT_FINITE;
            }
        }
    }
    return VV_OK;
}

int VV_ISA(vv_gemv_portable)(const void *args, size_t begin, size_t end) {
    return run(args, vv_weight_row, begin, end);
}

int VV_ISA(vv_gemv_rows4)(const void *args, size_t begin, size_t end) {
    return run(args, vv_weight_row_in_fours, begin, end);
}
