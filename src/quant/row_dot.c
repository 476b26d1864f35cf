/*
 * Plain C that compilers turn into vectors: a segment of the weight row is unpacked once to 16-bit
 * integers, then every row of the window takes its dot product while the segment is in the first
 * cache. The functions of a format are instances of the templates in quant/dot.h. Compiled once for
 * each instruction set.
 */
#include "quant/row_dot.h"

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
