/* Selection by counting passes, which vectorise: base/select.h. */
#include "base/isa.h"
#include "base/select.h"
#include "op/top_k/contract.h"
#include "op/top_k/internal.h"

int VV_ISA(vv_top_k_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_top_k *a = args;
    for (size_t r = begin; r < end; r++) {
        size_t blocks = ((size_t)a->window->position[r] + 1) / a->ratio;
        int32_t *list = a->list + r * a->keep;
        if (blocks > a->keep) {
            int error = vv_select_best(a->score + r * a->stride, blocks, a->keep, list);
            if (error != VV_OK) {
                return error;
            }
            a->listed[r] = (int32_t)a->keep;
            continue;
        }
        for (size_t b = 0; b < a->keep; b++) {
            list[b] = b < blocks ? (int32_t)b : -1;
        }
        a->listed[r] = (int32_t)blocks;
    }
    return VV_OK;
}
