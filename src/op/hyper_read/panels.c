/* hyper_down and hyper_up by panels of sixteen outputs (quant/panel/panel.h); compiled for each set
 * that has a kernel. */
#include "base/finite.h"
#include "base/isa.h"
#include "base/math.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "quant/panel/products.h"

/* y[row][count] = outputs first … of the weight, its separate scale applied; false where one is not
 * finite. */
static bool products(const struct vv_weight *w, size_t first, size_t count,
                     const struct vv_planes *x, size_t all, size_t from_row, size_t rows, float *y,
                     size_t y_row) {
    bool finite = true;
    vv_products(&VV_ISA(vv_panel_kernel), w, 0, first, count, x, all, from_row, rows, y, y_row);
    for (size_t r = 0; r < rows; r++, y += y_row) {
        if (w->scale) {
            for (size_t i = 0; i < count; i++) {
                y[i] *= *w->scale;
            }
        }
        finite = finite && vv_all_finite(y, count);
    }
    return finite;
}

/* Outputs first … first + count - 1 of `down`. */
static int down(const struct vv_hyper_down *a, size_t first, size_t count) {
    size_t rows = vv_rows(a->rows), rank = a->down->rows;
    float *y = a->a + first, divisor = (float)a->streams;
    if (!products(a->down, first, count, &a->h, rows, 0, rows, y, rank)) {
        return VV_ERROR_NOT_FINITE;
    }
    for (size_t r = 0; r < rows; r++, y += rank) {
        for (size_t i = 0; i < count; i++) {
            y[i] = vv_silu(y[i] / divisor);
        }
    }
    return VV_OK;
}

static int inject(const struct vv_hyper_down *a, size_t first, size_t count) {
    size_t rows = vv_rows(a->rows);
    float *y = a->gamma + first, divisor = (float)a->streams;
    if (!products(a->inject, first, count, &a->h, rows, 0, rows, y, a->streams)) {
        return VV_ERROR_NOT_FINITE;
    }
    for (size_t r = 0; r < rows; r++, y += a->streams) {
        for (size_t i = 0; i < count; i++) {
            y[i] = 2.0f * vv_sigmoid(y[i] / divisor);
        }
    }
    return VV_OK;
}

int VV_ISA(vv_hyper_down_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_down *a = args;
    size_t rank = a->down->rows, middle = end < rank ? end : rank;
    int error = begin < middle ? down(a, begin, middle - begin) : VV_OK;
    size_t from = begin > rank ? begin : rank;
    if (error == VV_OK && from < end) {
        error = inject(a, from - rank, end - from);
    }
    return error;
}

enum { ROWS = 64, COLUMNS = 64 };

/* Columns [at, at + n) of rows [first, first + rows): a piece of u stays in the cache while the
 * weights of its columns pass by, stream after stream. */
static int up_piece(const struct vv_hyper_up *a, size_t first, size_t rows, size_t at, size_t n) {
    float u[ROWS][COLUMNS] = {{0}}, m[ROWS][COLUMNS], divisor = (float)a->streams;
    for (size_t s = 0; s < a->streams; s++) {
        if (!products(a->up, s * a->width + at, n, &a->a, vv_rows(a->rows), first, rows, m[0],
                      COLUMNS)) {
            return VV_ERROR_NOT_FINITE;
        }
        for (size_t r = 0; r < rows; r++) {
            const float *h = a->h + ((first + r) * a->streams + s) * a->width + at;
            for (size_t c = 0; c < n; c++) {
                u[r][c] = fmaf(vv_sigmoid(m[r][c]), h[c], u[r][c]);
            }
        }
    }
    for (size_t r = 0; r < rows; r++) {
        float *to = a->u + (first + r) * a->width + at;
        for (size_t c = 0; c < n; c++) {
            to[c] = u[r][c] / divisor;
        }
    }
    return VV_OK;
}

int VV_ISA(vv_hyper_up_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_up *a = args;
    size_t rows = vv_rows(a->rows);
    int error = VV_OK;
    for (size_t at = begin; at < end; at += COLUMNS) {
        size_t n = end - at < COLUMNS ? end - at : COLUMNS;
        for (size_t first = 0; first < rows && error == VV_OK; first += ROWS) {
            error = up_piece(a, first, rows - first < ROWS ? rows - first : ROWS, at, n);
        }
    }
    return error;
}
