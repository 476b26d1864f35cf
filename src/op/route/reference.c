#include "base/math.h"
#include "op/route/contract.h"
#include "op/route/internal.h"

/* Selected: fewer than `used` experts stand before e in the total order. */
static bool is_selected(const float *logit, size_t experts, size_t used, size_t e) {
    size_t before = 0;
    for (size_t i = 0; i < experts; i++) {
        before += logit[i] > logit[e] || (logit[i] == logit[e] && i < e);
    }
    return before < used;
}

/* Section 4's float sum. */
static float plain_sum(const float *x, size_t n) {
    float sum = 0.0f;
    for (size_t at = 0; at < n; at += 128) {
        float lane[16] = {0};
        for (size_t i = at; i < at + 128 && i < n; i++) {
            lane[i % 16] += x[i];
        }
        for (size_t apart = 8; apart > 0; apart /= 2) {
            for (size_t l = 0; l < apart; l++) {
                lane[l] += lane[l + apart];
            }
        }
        sum += lane[0];
    }
    return sum;
}

int vv_route_reference(const void *args, size_t begin, size_t end) {
    const struct vv_route *a = args;
    for (size_t r = begin; r < end; r++) {
        const float *logit = a->logits + r * a->experts;
        int32_t *expert = a->expert + r * a->used;
        float *weight = a->weight + r * a->used;
        for (size_t e = 0; e < a->experts; e++) {
            if (isnan(logit[e])) {
                return VV_ERROR_NOT_FINITE;
            }
        }
        size_t n = 0;
        float largest = -INFINITY;
        for (size_t e = 0; e < a->experts; e++) {
            if (is_selected(logit, a->experts, a->used, e)) {
                expert[n++] = (int32_t)e;
                largest = fmaxf(largest, logit[e]);
            }
        }
        if (!isfinite(largest)) {
            return VV_ERROR_NOT_FINITE;
        }
        for (size_t j = 0; j < a->used; j++) {
            weight[j] = vv_exp(logit[expert[j]] - largest);
        }
        float inverse = 1.0f / plain_sum(weight, a->used);
        for (size_t j = 0; j < a->used; j++) {
            weight[j] *= inverse;
        }
    }
    return VV_OK;
}

int vv_route_group_reference(const void *args, size_t begin, size_t end) {
    const struct vv_route_group *a = args;
    size_t pairs = vv_rows(a->rows) * a->used;
    if (begin == end) {
        return VV_OK;
    }
    for (size_t i = 0; i < pairs; i++) {
        if (a->expert[i] < 0 || (size_t)a->expert[i] >= a->experts) {
            return VV_ERROR_INVALID;
        }
    }
    int32_t listed = 0, active = 0;
    for (size_t e = 0; e < a->experts; e++) {
        a->active[1 + e] = -1;
    }
    for (size_t e = 0; e < a->experts; e++) {
        a->begin[e] = listed;
        for (size_t i = 0; i < pairs; i++) {
            if ((size_t)a->expert[i] == e) {
                a->pair[listed++] = (int32_t)i;
            }
        }
        if (listed > a->begin[e]) {
            a->active[1 + active++] = (int32_t)e;
        }
    }
    a->begin[a->experts] = listed;
    a->active[0] = active;
    return VV_OK;
}
