#include "op/top_k/contract.h"
#include "op/top_k/internal.h"

#include <math.h>

/* Listed: fewer than `keep` blocks stand before b in the total order. */
static bool is_listed(const float *score, size_t blocks, size_t keep, size_t b) {
    size_t before = 0;
    for (size_t i = 0; i < blocks && before < keep; i++) {
        before += score[i] > score[b] || (score[i] == score[b] && i < b);
    }
    return before < keep;
}

int vv_top_k_reference(const void *args, size_t begin, size_t end) {
    const struct vv_top_k *a = args;
    for (size_t r = begin; r < end; r++) {
        const float *score = a->score + r * a->stride;
        size_t blocks = ((size_t)a->window->position[r] + 1) / a->ratio, n = 0;
        int32_t *list = a->list + r * a->keep;
        if (blocks > a->keep) {
            for (size_t b = 0; b < blocks; b++) {
                if (isnan(score[b])) {
                    return VV_ERROR_NOT_FINITE;
                }
            }
        }
        for (size_t b = 0; b < blocks; b++) {
            if (blocks <= a->keep || is_listed(score, blocks, a->keep, b)) {
                list[n++] = (int32_t)b;
            }
        }
        a->listed[r] = (int32_t)n;
        while (n < a->keep) {
            list[n++] = -1;
        }
    }
    return VV_OK;
}
