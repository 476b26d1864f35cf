/* Selection by counting passes, which vectorise (base/select.h); grouping by a counting sort. */
#include "base/dot.h"
#include "base/isa.h"
#include "base/select.h"
#include "op/route/contract.h"
#include "op/route/internal.h"

#include <string.h>

int VV_ISA(vv_route_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_route *a = args;
    for (size_t r = begin; r < end; r++) {
        const float *logit = a->logits + r * a->experts;
        int32_t *expert = a->expert + r * a->used;
        float *weight = a->weight + r * a->used;
        int error = vv_select_best(logit, a->experts, a->used, expert);
        if (error != VV_OK) {
            return error;
        }
        float largest = logit[expert[0]];
        for (size_t j = 0; j < a->used; j++) {
            weight[j] = logit[expert[j]];
            largest = weight[j] > largest ? weight[j] : largest;
        }
        if (!isfinite(largest)) {
            return VV_ERROR_NOT_FINITE;
        }
        for (size_t j = 0; j < a->used; j++) {
            weight[j] = vv_exp(weight[j] - largest);
        }
        float inverse = 1.0f / vv_sum(weight, a->used);
        for (size_t j = 0; j < a->used; j++) {
            weight[j] *= inverse;
        }
    }
    return VV_OK;
}

#ifndef VV_ISA_SUFFIX /* integers only: one instruction set is enough */
/* While `pair` is filled, begin[e + 1] is where the next pair of expert e goes; it ends at the end
 * of e's pairs, which is what it has to hold. */
int vv_route_group_portable(const void *args, size_t begin, size_t end) {
    const struct vv_route_group *a = args;
    size_t pairs = vv_rows(a->rows) * a->used, experts = a->experts;
    if (begin == end) {
        return VV_OK;
    }
    memset(a->begin, 0, (experts + 1) * sizeof *a->begin);
    memset(a->active, 0xff, (experts + 1) * sizeof *a->active);
    int32_t *next = a->begin + 1, active = 0, at = 0;
    for (size_t i = 0; i < pairs; i++) {
        if ((uint32_t)a->expert[i] >= experts) {
            return VV_ERROR_INVALID;
        }
        next[a->expert[i]]++;
    }
    for (size_t e = 0; e < experts; e++) {
        int32_t count = next[e];
        next[e] = at;
        at += count;
        if (count > 0) {
            a->active[1 + active++] = (int32_t)e;
        }
    }
    for (size_t i = 0; i < pairs; i++) {
        a->pair[next[a->expert[i]]++] = (int32_t)i;
    }
    a->active[0] = active;
    return VV_OK;
}
#endif
