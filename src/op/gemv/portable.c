/*
 * Plain C that compilers turn into vectors: a segment of the weight row is unpacked once to 16-bit
 * integers, then every row of the window takes its dot product while the segment is in the first
 * cache. The functions of a format are instances of the templates in quant/dot.h.
 */
#include "base/isa.h"
#include "op/gemv/internal.h"
#include "quant/row_dot.h"

#include <math.h>

/* ---- vv_rows_dot ---- */

/* Up to VV_DOT_ROWS rows from `begin` on; adds to sum. */
typedef void rows_dot(const struct vv_weight_row *w, const struct vv_planes *x, const int32_t *row,
                      size_t begin, size_t rows, float *sum /* [rows] */);

#define SUPER(TYPE, name, offset)                                                                  \
    static void rows_dot_##name(const struct vv_weight_row *w, const struct vv_planes *x,          \
                                const int32_t *row, size_t begin, size_t rows, float *sum) {       \
        vv_rows_dot_super(vv_unpack_##name, VV_BLOCK_VALUES_##TYPE, offset, w, x, row, begin,      \
                          rows, sum);                                                              \
    }
VV_SUPER_FORMATS(SUPER)

#define BLOCK(TYPE, name, offset, step)                                                            \
    static void rows_dot_##name(const struct vv_weight_row *w, const struct vv_planes *x,          \
                                const int32_t *row, size_t begin, size_t rows, float *sum) {       \
        vv_rows_dot_block(vv_unpack_##name, VV_BLOCK_VALUES_##TYPE, offset, step, w, x, row,       \
                          begin, rows, sum);                                                       \
    }
VV_BLOCK_FORMATS(BLOCK)

#define FLOAT(TYPE, name)                                                                          \
    static void part_##name(const struct vv_weight_row *w, size_t first, size_t values,            \
                            float *to) {                                                           \
        vv_decode_##name(w->at + first * VV_BLOCK_BYTES_##TYPE, to, values);                       \
    }                                                                                              \
    static void rows_dot_##name(const struct vv_weight_row *w, const struct vv_planes *x,          \
                                const int32_t *row, size_t begin, size_t rows, float *sum) {       \
        vv_rows_dot_float(part_##name, w, x, row, begin, rows, sum);                               \
    }
VV_FLOAT_FORMATS(FLOAT)

/* Validation: any quantised format, not made to be fast. */
static void part_decoded(const struct vv_weight_row *w, size_t first, size_t values, float *to) {
    const struct vv_format *format = vv_format(w->type);
    struct vv_segment s;
    format->unpack(w->at, w->stride, first / VV_SEGMENT, values, &s);
    if (format->arithmetic == VV_ARITHMETIC_SUPER) {
        vv_decode_super(&s, format->has_offset, to);
    } else {
        vv_decode_block(&s, format->has_offset, format->step, values, to);
    }
}

static void rows_dot_decoded(const struct vv_weight_row *w, const struct vv_planes *x,
                             const int32_t *row, size_t begin, size_t rows, float *sum) {
    vv_rows_dot_float(part_decoded, w, x, row, begin, rows, sum);
}

static rows_dot *rows_dot_of(int type, bool float_only) {
#define CASE(TYPE, name, ...)                                                                      \
    case VV_TYPE_##TYPE:                                                                           \
        return rows_dot_##name;
    switch (type) {
        VV_FLOAT_FORMATS(CASE)
    default:
        break;
    }
    if (float_only) {
        return rows_dot_decoded;
    }
    switch (type) {
        VV_SUPER_FORMATS(CASE)
        VV_BLOCK_FORMATS(CASE)
    default:
        return NULL;
    }
}

void VV_ISA(vv_rows_dot)(const struct vv_weight_row *w, const struct vv_planes *x,
                         const int32_t *row, size_t rows, float *y, size_t y_stride) {
    rows_dot *dot = rows_dot_of(w->type, x->float_only);
    for (size_t begin = 0; begin < rows; begin += VV_DOT_ROWS) {
        size_t n = rows - begin < VV_DOT_ROWS ? rows - begin : VV_DOT_ROWS;
        float sum[VV_DOT_ROWS] = {0};
        dot(w, x, row, begin, n, sum);
        for (size_t i = 0; i < n; i++) {
            y[(begin + i) * y_stride] = sum[i];
        }
    }
}

/* ---- gemv ---- */

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
