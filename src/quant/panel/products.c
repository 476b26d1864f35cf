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

/* Rows of activations that are multiplied while a group of weight rows passes by once: as many as
 * this memory holds, on the stack of the thread. */
enum { ROWS_MAX = 256, ROOM = 512 * 1024 / (int)sizeof(struct vv_panel_row) };

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
    size_t begin = g->next_bytes * segment / segments, end = g->next_bytes * (segment + 1) / segments;
    for (size_t at = begin; at < end; at += 64) {
        __builtin_prefetch(g->next + at);
    }
}

/* Rows begin … begin + n - 1 as panels' products take them: to[segment * n + i]. */
static void take_rows(const struct vv_panel_format *f, const struct vv_planes *x,
                      const int32_t *row, size_t begin, size_t n, struct vv_panel_row *to) {
    bool fine = f->kind == VV_PANEL_BLOCK || f->kind == VV_PANEL_BLOCK_OFFSET;
    size_t segments = (x->width + 127) / 128;
    for (size_t i = 0; i < n; i++) {
        size_t first = (row ? (size_t)row[begin + i] : begin + i) * x->width;
        for (size_t s = 0; s < segments; s++) {
            struct vv_panel_row *r = to + s * n + i;
            size_t values = x->width - 128 * s < 128 ? x->width - 128 * s : 128;
            size_t at = first + 128 * s;
            const int16_t *sum16 = (fine ? x->fine_sum16 : x->coarse_sum16) + at / 16;
            memcpy(r->q, (fine ? x->fine_q : x->coarse_q) + at, values);
            memcpy(r->sum16, sum16, values / 16 * sizeof *sum16);
            if (!fine) {
                r->scale[0] = x->coarse_scale[at / 128];
                continue;
            }
            memcpy(r->scale, x->fine_scale + at / 32, values / 32 * sizeof(float));
            for (size_t b = 0; b < values / 32; b++) {
                int32_t sum = sum16[2 * b] + sum16[2 * b + 1];
                r->start[b] = -f->shift * sum;
                r->sum[b] = (float)sum;
            }
        }
    }
}

static void pass(const struct vv_panel_kernel *kernel, const struct vv_panel_format *f,
                 const struct vv_weight *w, size_t slice, size_t first, size_t count,
                 const struct vv_panel_row *x, size_t n, float *y, size_t y_row) {
    vv_panel_fill *fill = kernel->fill(w->type);
    vv_panel_dots *dots = kernel->dots[f->kind];
    size_t segments = (w->width + 127) / 128;
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
            dots(&panel, f, values, x + s * n, n, total);
        }
        for (size_t i = 0; i < n; i++) {
            memcpy(y + i * y_row + o, total[i], some * sizeof(float));
        }
    }
}

void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, const int32_t *row,
                 size_t rows, float *y, size_t y_row) {
    const struct vv_panel_format *f = vv_panel_format(w->type);
    size_t segments = (w->width + 127) / 128;
    if (!f || x->float_only || segments > ROOM) {
        for (size_t o = 0; o < count; o++) {
            struct vv_weight_row at = vv_weight_row(w, slice, first + o);
            kernel->rows_dot(&at, x, row, rows, y + o, y_row);
        }
        return;
    }
    size_t most = ROOM / segments < ROWS_MAX ? ROOM / segments : ROWS_MAX;
    most = most > 16 ? most / 16 * 16 : most;
    struct vv_panel_row taken[ROOM];
    for (size_t begin = 0; begin < rows; begin += most) {
        size_t n = rows - begin < most ? rows - begin : most;
        take_rows(f, x, row, begin, n, taken);
        pass(kernel, f, w, slice, first, count, taken, n, y + begin * y_row, y_row);
    }
    if (kernel->release) {
        kernel->release();
    }
}
