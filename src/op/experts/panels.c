/*
 * By panels of sixteen rows of an expert's matrix (quant/panel/panel.h), for all rows of the window
 * that use the expert: its weights are read and unpacked once for many of them. Compiled for each
 * set that has a kernel.
 */
#include "base/finite.h"
#include "base/isa.h"
#include "base/math.h"
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "quant/panel/products.h"

enum { PAIRS = VV_TAKEN_MOST, COLUMNS = 64 };

/* Units that are outputs of one expert's matrix, for some of the rows that use the expert. */
struct stretch {
    size_t expert, output, count;
    const int32_t *pair;
    size_t pairs; /* at most PAIRS */
};

typedef int stretch_body(const void *args, const struct stretch *s);

/* Runs `body` on the units begin … end - 1; `width`: of the activations. */
static int stretches(const void *args, stretch_body *body, const int32_t *active,
                     const int32_t *first, const int32_t *pair, size_t outputs, size_t width,
                     size_t begin, size_t end) {
    size_t most = vv_taken_most(width);
    for (size_t unit = begin; unit < end;) {
        size_t e = (size_t)active[1 + unit / outputs], output = unit % outputs;
        size_t count = outputs - output < end - unit ? outputs - output : end - unit;
        size_t pairs = (size_t)(first[e + 1] - first[e]);
        for (size_t i = 0; i < pairs; i += most) {
            struct stretch s = {e, output, count, pair + first[e] + i,
                                pairs - i < most ? pairs - i : most};
            int error = body(args, &s);
            if (error != VV_OK) {
                return error;
            }
        }
        unit += count;
    }
    return VV_OK;
}

/* The separate scale; false where a product is not finite. */
static bool scaled(const struct vv_weight *weight, size_t expert, float *y, size_t n) {
    if (weight->scale) {
        for (size_t i = 0; i < n; i++) {
            y[i] *= weight->scale[expert];
        }
    }
    return vv_all_finite(y, n);
}

/* h of outputs at … at + n - 1 of the stretch holds the gate's products; join them with up's. */
static bool join(const struct vv_expert_up *a, const struct stretch *s, size_t at, size_t n,
                 float (*up)[COLUMNS]) {
    float limit = vv_limit(a->limit);
    bool finite = true;
    for (size_t i = 0; i < s->pairs; i++) {
        size_t pair = (size_t)s->pair[i];
        float *h = a->h + pair * a->hidden + s->output + at,
              weight = vv_pair_weight(a->weight, pair);
        finite = scaled(a->gate, s->expert, h, n) && scaled(a->up, s->expert, up[i], n) && finite;
        for (size_t r = 0; r < n; r++) {
            h[r] = vv_gated(h[r], up[i][r], limit) * weight;
        }
    }
    return finite;
}

static int up_stretch(const void *args, const struct stretch *s) {
    const struct vv_expert_up *a = args;
    const struct vv_panel_kernel *kernel = &VV_ISA(vv_panel_kernel);
    struct vv_taken_room room;
    int32_t row[PAIRS];
    float up[PAIRS][COLUMNS];
    for (size_t i = 0; i < s->pairs; i++) {
        row[i] = s->pair[i] / (int32_t)a->used;
    }
    struct vv_taken u = vv_take_rows(vv_panel_format(a->gate->type), &a->u, vv_rows(a->rows), row,
                                     0, s->pairs, &room);
    vv_taken_products(kernel, a->gate, s->expert, s->output, s->count, &u, a->h + s->output,
                      a->hidden, s->pair);
    if (a->up->type != a->gate->type) {
        u = vv_take_rows(vv_panel_format(a->up->type), &a->u, vv_rows(a->rows), row, 0, s->pairs,
                         &room);
    }
    for (size_t at = 0; at < s->count; at += COLUMNS) {
        size_t n = s->count - at < COLUMNS ? s->count - at : COLUMNS;
        vv_taken_products(kernel, a->up, s->expert, a->up_row + s->output + at, n, &u, up[0],
                          COLUMNS, NULL);
        if (!join(a, s, at, n, up)) {
            return VV_ERROR_NOT_FINITE;
        }
    }
    return VV_OK;
}

int VV_ISA(vv_expert_up_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_up *a = args;
    return stretches(a, up_stretch, a->active, a->begin, a->pair, a->hidden, a->u.width, begin,
                     end);
}

static int down_stretch(const void *args, const struct stretch *s) {
    const struct vv_expert_down *a = args;
    struct vv_taken_room room;
    struct vv_taken h = vv_take_rows(vv_panel_format(a->down->type), &a->h,
                                     vv_rows(a->rows) * a->used, s->pair, 0, s->pairs, &room);
    bool finite = true;
    vv_taken_products(&VV_ISA(vv_panel_kernel), a->down, s->expert, s->output, s->count, &h,
                      a->y + s->output, a->width, s->pair);
    for (size_t i = 0; i < s->pairs; i++) {
        float *y = a->y + (size_t)s->pair[i] * a->width + s->output;
        finite = scaled(a->down, s->expert, y, s->count) && finite;
    }
    return finite ? VV_OK : VV_ERROR_NOT_FINITE;
}

int VV_ISA(vv_expert_down_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_down *a = args;
    return stretches(a, down_stretch, a->active, a->begin, a->pair, a->width, a->h.width, begin,
                     end);
}
