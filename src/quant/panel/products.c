#include "quant/panel/products.h"
#include "quant/panel/formats.h"
#include "quant/row_dot.h"

#include <string.h>

static const struct vv_panel_format formats[] = {
#define FORMAT(TYPE, name, kind, shift, narrow) {VV_TYPE_##TYPE, VV_PANEL_##kind, shift, narrow},
    VV_PANEL_BLOCKS(FORMAT) VV_PANEL_SUPERS(FORMAT) VV_PANEL_LOOKED_UP(FORMAT)};

const struct vv_panel_format *vv_panel_format(int type) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].type == type) {
            return &formats[i];
        }
    }
    return NULL;
}

/* Rows of activations whose sums are kept at a time, while a group of weight rows passes by once.
 */
enum { PASS = 256 };

/* A group of sixteen weight rows: where they are, and what to fetch while they are multiplied. */
struct group {
    struct vv_panel_source at;
    const uint8_t *next; /* what lies behind them */
    size_t next_bytes;
};

static struct group group_at(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                             size_t left) {
    struct group g;
    const uint8_t *base = w->data + (slice * w->rows + first) * w->row_bytes;
    for (size_t r = 0; r < VV_PANEL_ROWS; r++) {
        g.at.at[r] = base + (r < count ? r : count - 1) * w->row_bytes;
    }
    size_t ahead = left < VV_PANEL_ROWS ? left : VV_PANEL_ROWS;
    g.next = base + count * w->row_bytes;
    g.next_bytes = ahead * w->row_bytes;
    return g;
}

static void fetch(const struct group *g, size_t segment, size_t segments) {
    size_t begin = g->next_bytes * segment / segments, end = g->next_bytes * (segment + 1) / segments;
    for (size_t at = begin; at < end; at += 64) {
        __builtin_prefetch(g->next + at);
    }
}

void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, const int32_t *row,
                 size_t rows, float *y, size_t y_row) {
    const struct vv_panel_format *f = vv_panel_format(w->type);
    if (!f || x->float_only) {
        for (size_t o = 0; o < count; o++) {
            struct vv_weight_row at = vv_weight_row(w, slice, first + o);
            kernel->rows_dot(&at, x, row, rows, y + o, y_row);
        }
        return;
    }
    vv_panel_fill *fill = kernel->fill(w->type);
    vv_panel_dots *dots = kernel->dots[f->kind];
    size_t segments = (w->width + 127) / 128;
    struct vv_panel panel;
    size_t number[PASS];
    _Alignas(64) float total[PASS][VV_PANEL_ROWS];
    for (size_t begin = 0; begin < rows; begin += PASS) {
        size_t n = rows - begin < PASS ? rows - begin : PASS;
        for (size_t i = 0; i < n; i++) {
            number[i] = row ? (size_t)row[begin + i] : begin + i;
        }
        for (size_t o = 0; o < count; o += VV_PANEL_ROWS) {
            size_t some = count - o < VV_PANEL_ROWS ? count - o : VV_PANEL_ROWS;
            struct group g = group_at(w, slice, first + o, some, count - o - some);
            memset(total, 0, n * sizeof *total);
            for (size_t s = 0; s < segments; s++) {
                size_t values = w->width - 128 * s < 128 ? w->width - 128 * s : 128;
                fetch(&g, s, segments);
                fill(&g.at, s, values, &panel);
                dots(&panel, f, x, s, values, number, n, total);
            }
            for (size_t i = 0; i < n; i++) {
                memcpy(y + (begin + i) * y_row + o, total[i], some * sizeof(float));
            }
        }
    }
}
