#include "base/dot.h"
#include "base/isa.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "quant/row_dot.h"

int VV_ISA(vv_hyper_norm_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_norm *a = args;
    for (size_t stream = begin; stream < end; stream++) {
        const float *weight = a->weight + stream % a->streams * a->width;
        float *x = a->x + stream * a->width, *h = a->h + stream * a->width;
        if (a->o) {
            const float *o = a->o + stream / a->streams * a->width;
            float gamma = a->gamma[stream];
            for (size_t i = 0; i < a->width; i++) {
                x[i] = fmaf(gamma, o[i], x[i]);
            }
        }
        float sum = vv_dot(x, x, a->width);
        if (!isfinite(sum)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inv = 1.0f / sqrtf(sum / (float)a->width + a->eps);
        for (size_t i = 0; i < a->width; i++) {
            h[i] = (x[i] * inv) * weight[i];
        }
    }
    return VV_OK;
}

/* Element `unit` of a row's a, or of its gamma: where it lies, and the weight row it comes from. */
struct output {
    const struct vv_weight *weight;
    size_t weight_row;
    float *y; /* of the first row */
    size_t stride;
    bool injects;
};

static struct output output_of(const struct vv_hyper_down *a, size_t unit) {
    size_t rank = a->down->rows;
    if (unit < rank) {
        return (struct output){a->down, unit, a->a + unit, rank, false};
    }
    return (struct output){a->inject, unit - rank, a->gamma + unit - rank, a->streams, true};
}

int VV_ISA(vv_hyper_down_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_down *a = args;
    size_t rows = vv_rows(a->rows);
    for (size_t unit = begin; unit < end; unit++) {
        struct output o = output_of(a, unit);
        struct vv_weight_row w = vv_weight_row(o.weight, 0, o.weight_row);
        VV_ISA(vv_rows_dot)(&w, &a->h, NULL, rows, o.y, o.stride);
        for (size_t row = 0; row < rows; row++) {
            float *y = o.y + row * o.stride;
            float product = o.weight->scale ? *y * *o.weight->scale : *y;
            if (!isfinite(product)) {
                return VV_ERROR_NOT_FINITE;
            }
            float part = product / (float)a->streams;
            *y = o.injects ? 2.0f * vv_sigmoid(part) : vv_silu(part);
        }
    }
    return VV_OK;
}

enum { COLUMNS = 64 };

/* y becomes sigmoid(y · scale); false if a product is not finite. */
static bool gate(float *y, size_t n, const float *scale) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        y[i] = scale ? y[i] * *scale : y[i];
        finite = finite && isfinite(y[i]);
    }
    for (size_t i = 0; i < n; i++) {
        y[i] = vv_sigmoid(y[i]);
    }
    return finite;
}

/* Columns [at, at + n) of rows [first, first + rows): a piece of u stays in the first cache while
 * the weights of its columns pass by, stream after stream. */
static int contract_piece(const struct vv_hyper_up *a, size_t first, size_t rows, size_t at,
                          size_t n) {
    float u[VV_DOT_ROWS][COLUMNS] = {{0}}, m[VV_DOT_ROWS][COLUMNS];
    int32_t row[VV_DOT_ROWS];
    for (size_t r = 0; r < rows; r++) {
        row[r] = (int32_t)(first + r);
    }
    for (size_t s = 0; s < a->streams; s++) {
        for (size_t c = 0; c < n; c++) {
            struct vv_weight_row w = vv_weight_row(a->up, 0, s * a->width + at + c);
            VV_ISA(vv_rows_dot)(&w, &a->a, row, rows, &m[0][c], COLUMNS);
        }
        for (size_t r = 0; r < rows; r++) {
            const float *h = a->h + ((first + r) * a->streams + s) * a->width + at;
            if (!gate(m[r], n, a->up->scale)) {
                return VV_ERROR_NOT_FINITE;
            }
            for (size_t c = 0; c < n; c++) {
                u[r][c] = fmaf(m[r][c], h[c], u[r][c]);
            }
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < n; c++) {
            a->u[(first + r) * a->width + at + c] = u[r][c] / (float)a->streams;
        }
    }
    return VV_OK;
}

int VV_ISA(vv_hyper_up_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_up *a = args;
    size_t rows = vv_rows(a->rows);
    int error = VV_OK;
    for (size_t at = begin; at < end; at += COLUMNS) {
        size_t n = end - at < COLUMNS ? end - at : COLUMNS;
        for (size_t first = 0; first < rows && error == VV_OK; first += VV_DOT_ROWS) {
            size_t some = rows - first < VV_DOT_ROWS ? rows - first : VV_DOT_ROWS;
            error = contract_piece(a, first, some, at, n);
        }
    }
    return error;
}
