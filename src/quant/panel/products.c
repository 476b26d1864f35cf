#include "quant/panel/products.h"
#include "quant/panel/formats.h"
#include "quant/row_dot.h"

#include <string.h>

enum { SEGMENTS_AHEAD = 4 };

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

static struct vv_panel_source group_at(const struct vv_weight *w, size_t slice, size_t first,
                                       size_t count) {
    struct vv_panel_source g;
    const uint8_t *base = w->data + (slice * w->rows + first) * w->row_bytes;
    for (size_t r = 0; r < VV_PANEL_ROWS; r++) {
        g.at[r] = base + (r < count ? r : count - 1) * w->row_bytes;
    }
    return g;
}

/* Sixteen rows read side by side are more streams than a processor foresees: fetches what they
 * hold some segments ahead, at their end what the next sixteen hold. Into the second cache: the
 * first has fewer lines on their way at a time than memory needs to be busy. Fetching what lies
 * beyond a weight does no harm. */
static void fetch(const struct vv_panel_source *g, size_t row_bytes, size_t segment,
                  size_t segments) {
    size_t each = row_bytes / segments, ahead = segment + SEGMENTS_AHEAD;
    size_t at = ahead / segments * VV_PANEL_ROWS * row_bytes + ahead % segments * each;
    for (int r = 0; r < VV_PANEL_ROWS; r++) {
        for (size_t i = 0; i < each; i += 64) {
            __builtin_prefetch((const void *)((uintptr_t)g->at[r] + at + i), 0, 2);
        }
    }
}

size_t vv_taken_most(size_t width) {
    size_t room = sizeof((struct vv_taken_room *)0)->row / sizeof(struct vv_panel_row);
    size_t rows = room / vv_plane_scales(width, VV_COARSE_UNIT);
    rows = rows < VV_TAKEN_MOST ? rows : VV_TAKEN_MOST;
    return rows > 16 ? rows / 16 * 16 : rows; /* whole tiles of a matrix unit */
}

static bool is_fine(const struct vv_panel_format *f) {
    return f->kind == VV_PANEL_BLOCK || f->kind == VV_PANEL_BLOCK_16 ||
           f->kind == VV_PANEL_BLOCK_OFFSET;
}

struct vv_taken vv_take_rows(const struct vv_panel_format *format, const struct vv_planes *x,
                             size_t all, const int32_t *row, size_t first, size_t n,
                             struct vv_taken_room *room) {
    bool fine = is_fine(format);
    size_t segments = vv_plane_scales(x->width, VV_COARSE_UNIT);
    const struct vv_panel_row *panel = fine ? x->fine_panel : x->coarse_panel;
    if (panel && !row) {
        return (struct vv_taken){format, panel + first, n, all};
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = row ? (size_t)row[i] : first + i;
        for (size_t s = 0; s < segments; s++) {
            struct vv_panel_row *to = &room->row[s * n + i];
            if (panel) {
                *to = panel[s * all + from];
            } else if (fine) {
                vv_fine_panel_row(x, from, s, to);
            } else {
                vv_coarse_panel_row(x, from, s, to);
            }
        }
    }
    return (struct vv_taken){format, room->row, n, n};
}

/* The products of at most VV_TAKEN_MOST rows. */
static void pass(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_taken *x, float *y, size_t y_row,
                 const int32_t *to) {
    vv_panel_fill *fill = kernel->fill(w->type);
    vv_panel_dots *dots = kernel->dots[x->format->kind];
    size_t segments = vv_plane_scales(w->width, VV_COARSE_UNIT), n = x->rows;
    struct vv_panel panel;
    _Alignas(64) float total[VV_TAKEN_MOST][VV_PANEL_ROWS];
    for (size_t o = 0; o < count; o += VV_PANEL_ROWS) {
        size_t some = count - o < VV_PANEL_ROWS ? count - o : VV_PANEL_ROWS;
        struct vv_panel_source g = group_at(w, slice, first + o, some);
        memset(total, 0, n * sizeof *total);
        for (size_t s = 0; s < segments; s++) {
            size_t values = w->width - 128 * s < 128 ? w->width - 128 * s : 128;
            fetch(&g, w->row_bytes, s, segments);
            fill(&g, s, values, &panel);
            dots(&panel, x->format, values, x->row + s * x->stride, n, total);
        }
        for (size_t i = 0; i < n; i++) {
            memcpy(y + (to ? (size_t)to[i] : i) * y_row + o, total[i], some * sizeof(float));
        }
    }
}

void vv_taken_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w,
                       size_t slice, size_t first, size_t count, const struct vv_taken *x, float *y,
                       size_t y_row, const int32_t *to) {
    for (size_t i = 0; i < x->rows; i += VV_TAKEN_MOST) {
        struct vv_taken part = *x;
        part.row += i;
        part.rows = x->rows - i < VV_TAKEN_MOST ? x->rows - i : VV_TAKEN_MOST;
        pass(kernel, w, slice, first, count, &part, to ? y : y + i * y_row, y_row,
             to ? to + i : NULL);
    }
    if (kernel->release) {
        kernel->release();
    }
}

/* Weights that aren't multiplied by panels. */
static void other_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w,
                           size_t slice, size_t first, size_t count, const struct vv_planes *x,
                           size_t from_row, size_t rows, float *y, size_t y_row) {
    struct vv_planes from = *x; /* from_row is its first row */
    size_t values = from_row * x->width, segments = vv_plane_scales(x->width, VV_COARSE_UNIT);
    from.x = x->x + values;
    if (vv_format(w->type)->arithmetic == VV_ARITHMETIC_FLOAT && kernel->floats) {
        kernel->floats(w, slice, first, count, from.x, rows, y, y_row);
        return;
    }
    from.coarse_q = x->coarse_q ? x->coarse_q + values : NULL;
    from.coarse_scale = x->coarse_scale ? x->coarse_scale + from_row * segments : NULL;
    from.coarse_sum16 = x->coarse_sum16 ? x->coarse_sum16 + values / 16 : NULL;
    from.fine_q = x->fine_q ? x->fine_q + values : NULL;
    from.fine_scale = x->fine_scale ? x->fine_scale + values / 32 : NULL;
    from.fine_sum16 = x->fine_sum16 ? x->fine_sum16 + values / 16 : NULL;
    for (size_t o = 0; o < count; o++) {
        struct vv_weight_row at = vv_weight_row(w, slice, first + o);
        kernel->rows_dot(&at, &from, NULL, rows, y + o, y_row);
    }
}

void vv_products(const struct vv_panel_kernel *kernel, const struct vv_weight *w, size_t slice,
                 size_t first, size_t count, const struct vv_planes *x, size_t all, size_t from_row,
                 size_t rows, float *y, size_t y_row) {
    const struct vv_panel_format *f = vv_panel_format(w->type);
    size_t most = vv_taken_most(w->width);
    if (!f || x->float_only || most == 0) {
        other_products(kernel, w, slice, first, count, x, from_row, rows, y, y_row);
        return;
    }
    struct vv_taken_room room;
    most = (is_fine(f) ? x->fine_panel : x->coarse_panel) ? rows : most;
    for (size_t i = 0; i < rows; i += most) {
        size_t n = rows - i < most ? rows - i : most;
        struct vv_taken taken = vv_take_rows(f, x, all, NULL, from_row + i, n, &room);
        vv_taken_products(kernel, w, slice, first, count, &taken, y + i * y_row, y_row, NULL);
    }
}
