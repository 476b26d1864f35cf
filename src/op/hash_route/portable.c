/* Scores in one loop that vectorises, then counting passes (base/select.h). */
#include "base/dot.h"
#include "base/isa.h"
#include "base/select.h"
#include "op/hash_route/internal.h"

static int choose(const struct vv_hash_route *a, size_t row, int32_t *expert) {
    const float *logit = a->logits + row * a->experts;
    float *score = a->score + row * a->experts;
    for (size_t e = 0; e < a->experts; e++) {
        /* plus 0, or NaN: softplus takes 0 for NaN, and infinities are for selection to bear */
        score[e] = (sqrtf(vv_softplus(logit[e])) + a->bias[e]) + (logit[e] - logit[e]);
    }
    return vv_select_best(score, a->experts, a->used, expert);
}

int VV_ISA(vv_hash_route_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_hash_route *a = args;
    for (size_t row = begin; row < end; row++) {
        const float *logit = a->logits + row * a->experts;
        int32_t *expert = a->expert + row * a->used;
        float *weight = a->weight + row * a->used;
        int error = a->table ? vv_hash_route_listed(a, row, expert) : choose(a, row, expert);
        for (size_t j = 0; j < a->used && error == VV_OK; j++) {
            float l = logit[expert[j]];
            weight[j] = sqrtf(vv_softplus(l));
            error = isfinite(l) ? VV_OK : VV_ERROR_NOT_FINITE;
        }
        if (error != VV_OK) {
            return error;
        }
        float sum = vv_sum(weight, a->used), factor = a->scale / (sum > 0x1p-14f ? sum : 0x1p-14f);
        for (size_t j = 0; j < a->used; j++) {
            weight[j] *= factor;
        }
    }
    return VV_OK;
}
