#include "quant/panel/products.h"
#include "quant/panel/formats.h"
#include "quant/row_dot.h"

#include <string.h>

static const struct vv_panel_format formats[] = {
#define FORMAT(TYPE, name, kind, shift, largest) {VV_TYPE_##TYPE, VV_PANEL_##kind, shift, largest},
    VV_PANEL_BLOCKS(FORMAT) VV_PANEL_SUPERS(FORMAT) VV_PANEL_LOOKED_UP(FORMAT)};

const struct vv_panel_format *vv_panel_format(int type) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].type == type) {
            return &formats[i];
        }
    }
    return NULL;
}

enum { ROWS_MAX = 256 };

/* A group of sixteen weight rows: where they are, and what to fetch while they are multiplied. */
struct group {
    struct vv_panel_source at;
    const uint8_t *next; /* what lies behind them */
    size_t next_bytes;
};

static struct group group_at(const struct vv_weight *w, size_t slice, size_t first, size_t count) {
    struct group g;
    const uint8_t *base = w->data + (slice * w->rows + first) * w->row_bytes;
    for (size_t r = 0; r < VV_PANEL_ROWS; r++) {
        g.at.at[r] = base + (r < count ? r : count - 1) * w->row_bytes;
    }
    g.next = base + count * w->row_bytes; /* fetching beyond the last row does no harm */
    g.next_bytes = VV_PANEL_ROWS * w->row_bytes;
    return g;
}

static void fetch(const struct group *g, size_t segment, size_t segments) {
    size_t begin = g->next_bytes * segment / segments,
           end = g->next_bytes * (segment + 1) / segments;
    for (size_t at = begin; at < end; at += 64) {
        __builtin_prefetch(g->next + at);
    }
}

size_t vv_taken_most(size_t width) {
    size_t room = sizeof((struct vv_taken *)0)->row / sizeof(struct vv_panel_row);
    size_t rows = room / ((width + 127) / 128);
    rows = rows < ROWS_MAX ? rows : ROWS_MAX;
    return rows > 16 ? rows / 16 * 16 : rows; /* whole tiles of a matrix unit */
}

/* Segment of a row of coarse planes; `at` counts values from the first row on. */
static void take_coarse(const struct vv_planes *x, size_t at, struct vv_panel_row *to) {
    memcpy(to->q, x->coarse_q + at, 128);
    memcpy(to->sum16, x->coarse_sum16 + at / 16, sizeof to->sum16);
    to->scale[0] = x->coarse_scale[at / 128];
}

static void take_fine(const struct vv_planes *x, size_t at, size_t blocks, int shift,
                      struct vv_panel_row *to) {
    const int16_t *sum16 = x->fine_sum16 + at / 16;
    for (size_t b = 0; b < blocks; b++) {
        int32_t sum = sum16[2 * b] + sum16[2 * b + 1];
        memcpy(to->q + 32 * b, x->fine_q + at + 32 * b, 32);
        to->scale[b] = x->fine_scale[at / 32 + b];
        to->start[b] = -shift * sum;
        to->sum[b] = (float)sum;
    }
}

void vv_take_rows(const struct vv_panel_format *format, const struct vv_planes *x,
                  const int32_t *row, size_t first, size_t n, struct vv_taken *to) {
    bool fine = format->kind == VV_PANEL_BLOCK || format->kind == VV_PANEL_BLOCK_OFFSET;
    size_t segments = (x->width + 127) / 128;
    to->format = format;
    to->width = x->width;
    to->rows = n;
    for (size_t i = 0; i < n; i++) {
        size_t at = (row ? (size_t)row[i] : first + i) * x->width;
        for (size_t s = 0; s < segments; s++) {
            size_t values = x->width - 128 * s < 128 ? x->width - 128 * s : 128;
            if (fine) {
                take_fine(x, at + 128 * s, values / 32, format->shift, &to->row[s * n + i]);
            } else {
                take_coarse(x, at + 128 * s, &to->row[s * n + i]);
            }
        }
    }
}

void vv_taken_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w,
                       size_t slice, size_t first, size_t count, const struct vv_taken *x, float *y,
                       size_t y_row, const int32_t *to) {
    vv_panel_fill *fill = kernel->fill(w->type);
    vv_panel_dots *dots = kernel->dots[x->format->kind];
    size_t segments = (w->width + 127) / 128, n = x->rows;
    struct vv_panel panel;
    _Alignas(64) float total[ROWS_MAX][VV_PANEL_ROWS];
    for (size_t o = 0; o < count; o += VV_PANEL_ROWS) {
        size_t some = count - o < VV_PANEL_ROWS ? count - o : VV_PANEL_ROWS;
        struct group g = group_at(w, slice, first + o, some);
        memset(total, 0, n * sizeof *total);
        for (size_t s = 0; s < segments; s++) {
            size_t values = w->width - 128 * s < 128 ? w->width - 128 * s : 128;
            fetch(&g, s, segments);
            fill(&g.at, s, values, &panel);
            dots(&panel, x->format, values, x->row + s * n, n, total);
        }
        for (size_t i = 0; i < n; i++) {
            memcpy(y + (to ? (size_t)to[i] : i) * y_row + o, total[i], some * sizeof(float));
        }
    }
    if (kernel->release) {
        kernel->release();
    }
}

void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, const int32_t *row,
                 size_t rows, float *y, size_t y_row) {
    const struct vv_panel_format *f = vv_panel_format(w->type);
    size_t most = vv_taken_most(w->width);
    bool floats = vv_format(w->type)->arithmetic == VV_ARITHMETIC_FLOAT;
    if (floats && rows > 1 && kernel->floats) {
        kernel->floats(w, slice, first, count, x->x, row, rows, y, y_row);
        return;
    }
    if (!f || x->float_only || most == 0) {
        for (size_t o = 0; o < count; o++) {
            struct vv_weight_row at = vv_weight_row(w, slice, first + o);
            kernel->rows_dot(&at, x, row, rows, y + o, y_row);
        }
        return;
    }
    struct vv_taken taken;
    for (size_t begin = 0; begin < rows; begin += most) {
        size_t n = rows - begin < most ? rows - begin : most;
        vv_take_rows(f, x, row ? row + begin : NULL, begin, n, &taken);
        vv_taken_products(kernel, w, slice, first, count, &taken, y + begin * y_row, y_row, NULL);
    }
}
