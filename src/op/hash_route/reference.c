#include "base/math.h"
#include "op/hash_route/internal.h"

static bool is_selected(const float *score, size_t experts, size_t used, size_t e) {
    size_t before = 0;
    for (size_t i = 0; i < experts; i++) {
        before += score[i] > score[e] || (score[i] == score[e] && i < e);
    }
    return before < used;
}

static int select_best(const struct vv_hash_route *a, size_t row, int32_t *expert) {
    const float *logit = a->logits + row * a->experts;
    float *score = a->score + row * a->experts;
    size_t n = 0;
    for (size_t e = 0; e < a->experts; e++) {
        score[e] = sqrtf(vv_softplus(logit[e])) + a->bias[e];
        if (!isfinite(logit[e]) || isnan(score[e])) {
            return VV_ERROR_NOT_FINITE;
        }
    }
    for (size_t e = 0; e < a->experts; e++) {
        if (is_selected(score, a->experts, a->used, e)) {
            expert[n++] = (int32_t)e;
        }
    }
    return VV_OK;
}

/* The float sum of section 4. */
static float plain_sum(const float *x, size_t n) {
    float sum = 0.0f;
    for (size_t at = 0; at < n; at += 128) {
        float lane[16] = {0};
        for (size_t i = at; i < n && i < at + 128; i++) {
            lane[i % 16] += x[i];
        }
        for (size_t apart = 8; apart > 0; apart /= 2) {
            for (size_t l = 0; l < apart; l++) {
                lane[l] = lane[l] + lane[l + apart];
            }
        }
        sum += lane[0];
    }
    return sum;
}

int vv_hash_route_reference(const void *args, size_t begin, size_t end) {
    const struct vv_hash_route *a = args;
    for (size_t row = begin; row < end; row++) {
        int32_t *expert = a->expert + row * a->used;
        float *weight = a->weight + row * a->used;
        int error = a->table ? vv_hash_route_listed(a, row, expert) : select_best(a, row, expert);
        for (size_t j = 0; j < a->used && error == VV_OK; j++) {
            float logit = a->logits[row * a->experts + (size_t)expert[j]];
            weight[j] = sqrtf(vv_softplus(logit));
            error = isfinite(logit) ? VV_OK : VV_ERROR_NOT_FINITE;
        }
        if (error != VV_OK) {
            return error;
        }
        float factor = a->scale / fmaxf(plain_sum(weight, a->used), 0x1p-14f);
        for (size_t j = 0; j < a->used; j++) {
            weight[j] *= factor;
        }
    }
    return VV_OK;
}
