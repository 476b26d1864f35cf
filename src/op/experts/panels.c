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

enum { PAIRS = 128, COLUMNS = 64 };

/* A stretch of units that are rows of one expert's matrix. */
struct stretch {
    size_t expert, output, count; /* count at most COLUMNS */
    const int32_t *pair;          /* the rows that use the expert */
    size_t pairs;
};

static struct stretch stretch_at(const int32_t *active, const int32_t *begin, const int32_t *pair,
                                 size_t outputs, size_t unit, size_t end) {
    size_t e = (size_t)active[1 + unit / outputs], output = unit % outputs;
    size_t count = outputs - output;
    count = count < end - unit ? count : end - unit;
    count = count < COLUMNS ? count : COLUMNS;
    return (struct stretch){e, output, count, pair + begin[e], (size_t)(begin[e + 1] - begin[e])};
}

/* y[i][r] = row `output` + r of the expert . activation row row[i], with the separate scale. */
static int products(const struct vv_weight *weight, const struct stretch *s, size_t output,
                    const struct vv_planes *x, const int32_t *row, size_t n, float (*y)[COLUMNS]) {
    uint32_t finite = 1;
    vv_products(&VV_ISA(vv_panel_kernel), weight, s->expert, output, s->count, x, row, n, y[0],
                COLUMNS);
    for (size_t i = 0; i < n; i++) {
        if (weight->scale) {
            for (size_t r = 0; r < s->count; r++) {
                y[i][r] *= weight->scale[s->expert];
            }
        }
        finite &= vv_all_finite(y[i], s->count);
    }
    return finite ? VV_OK : VV_ERROR_NOT_FINITE;
}

static int up_pairs(const struct vv_expert_up *a, const struct stretch *s, const int32_t *pair,
                    size_t n) {
    int32_t row[PAIRS];
    float gate[PAIRS][COLUMNS], up[PAIRS][COLUMNS];
    for (size_t i = 0; i < n; i++) {
        row[i] = pair[i] / (int32_t)a->used;
    }
    int error = products(a->gate, s, s->output, &a->u, row, n, gate);
    if (error == VV_OK) {
        error = products(a->up, s, a->up_row + s->output, &a->u, row, n, up);
    }
    for (size_t i = 0; i < n && error == VV_OK; i++) {
        float *h = a->h + (size_t)pair[i] * a->hidden + s->output;
        for (size_t r = 0; r < s->count; r++) {
            h[r] = vv_silu(gate[i][r]) * up[i][r];
        }
    }
    return error;
}

int VV_ISA(vv_expert_up_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_up *a = args;
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK;) {
        struct stretch s = stretch_at(a->active, a->begin, a->pair, a->hidden, unit, end);
        for (size_t i = 0; i < s.pairs && error == VV_OK; i += PAIRS) {
            error = up_pairs(a, &s, s.pair + i, s.pairs - i < PAIRS ? s.pairs - i : PAIRS);
        }
        unit += s.count;
    }
    return error;
}

static int down_pairs(const struct vv_expert_down *a, const struct stretch *s, const int32_t *pair,
                      size_t n) {
    float y[PAIRS][COLUMNS];
    int error = products(a->down, s, s->output, &a->h, pair, n, y);
    for (size_t i = 0; i < n && error == VV_OK; i++) {
        memcpy(a->y + (size_t)pair[i] * a->width + s->output, y[i], s->count * sizeof(float));
    }
    return error;
}

int VV_ISA(vv_expert_down_panels)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_down *a = args;
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK;) {
        struct stretch s = stretch_at(a->active, a->begin, a->pair, a->width, unit, end);
        for (size_t i = 0; i < s.pairs && error == VV_OK; i += PAIRS) {
            error = down_pairs(a, &s, s.pair + i, s.pairs - i < PAIRS ? s.pairs - i : PAIRS);
        }
        unit += s.count;
    }
    return error;
}
