/*
 * Each row of an expert's weights is read once for all the rows that use the expert, a few at a
 * time (quant/row_dot.h); consecutive units are consecutive rows of one expert's matrix.
 */
#include "base/isa.h"
#include "base/math.h"
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "quant/row_dot.h"

enum { PAIRS = 64, COLUMNS = 64 };

/* y[i] = (row `output` of slice e) · (row[i] of x), n <= PAIRS of them. */
static int products(const struct vv_weight *weight, size_t e, size_t output,
                    const struct vv_planes *x, const int32_t *row, size_t n, float *y) {
    struct vv_weight_row w = vv_weight_row(weight, e, output);
    bool finite = true;
    VV_ISA(vv_rows_dot)(&w, x, row, n, y, 1);
    for (size_t i = 0; i < n; i++) {
        y[i] = weight->scale ? y[i] * weight->scale[e] : y[i];
        finite = finite && isfinite(y[i]);
    }
    return finite ? VV_OK : VV_ERROR_NOT_FINITE;
}

static int up_pairs(const struct vv_expert_up *a, size_t e, size_t output, const int32_t *pair,
                    size_t n) {
    int32_t row[PAIRS];
    float gate[PAIRS], up[PAIRS];
    for (size_t i = 0; i < n; i++) {
        row[i] = pair[i] / (int32_t)a->used;
    }
    int error = products(a->gate, e, output, &a->u, row, n, gate);
    if (error == VV_OK) {
        error = products(a->up, e, a->up_row + output, &a->u, row, n, up);
    }
    for (size_t i = 0; i < n && error == VV_OK; i++) {
        a->h[(size_t)pair[i] * a->hidden + output] = vv_gated(gate[i], up[i], vv_limit(a->limit)) *
                                                     vv_pair_weight(a->weight, (size_t)pair[i]);
    }
    return error;
}

int VV_ISA(vv_expert_up_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_up *a = args;
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK; unit++) {
        size_t e = (size_t)a->active[1 + unit / a->hidden];
        size_t last = (size_t)a->begin[e + 1];
        for (size_t i = (size_t)a->begin[e]; i < last && error == VV_OK; i += PAIRS) {
            size_t n = last - i < PAIRS ? last - i : PAIRS;
            error = up_pairs(a, e, unit % a->hidden, a->pair + i, n);
        }
    }
    return error;
}

int VV_ISA(vv_expert_down_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_down *a = args;
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK; unit++) {
        size_t e = (size_t)a->active[1 + unit / a->width], output = unit % a->width;
        size_t last = (size_t)a->begin[e + 1];
        for (size_t i = (size_t)a->begin[e]; i < last && error == VV_OK; i += PAIRS) {
            size_t n = last - i < PAIRS ? last - i : PAIRS;
            const int32_t *pair = a->pair + i;
            float y[PAIRS];
            error = products(a->down, e, output, &a->h, pair, n, y);
            for (size_t p = 0; p < n && error == VV_OK; p++) {
                a->y[(size_t)pair[p] * a->width + output] = y[p];
            }
        }
    }
    return error;
}

/* Columns at .. at + n - 1 of one row. */
static void sum_columns(const struct vv_expert_sum *a, size_t row, size_t at, size_t n) {
    float sum[COLUMNS] = {0}, gate = a->shared_gate ? vv_sigmoid(a->shared_gate[row]) : 1.0f;
    const float *shared = a->shared + row * a->width + at;
    float *o = a->o + row * a->width + at;
    for (size_t j = 0; j < a->used; j++) {
        size_t pair = row * a->used + j;
        const float *y = a->y + pair * a->width + at;
        float weight = vv_pair_weight(a->weight, pair);
        for (size_t i = 0; i < n; i++) {
            sum[i] = fmaf(weight, y[i], sum[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        o[i] = fmaf(gate, shared[i], sum[i]);
    }
}

int VV_ISA(vv_expert_sum_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_expert_sum *a = args;
    for (size_t row = begin; row < end; row++) {
        for (size_t at = 0; at < a->width; at += COLUMNS) {
            sum_columns(a, row, at, a->width - at < COLUMNS ? a->width - at : COLUMNS);
        }
    }
    return VV_OK;
}
