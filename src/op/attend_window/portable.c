/* All heads of a row that are asked for share what they see. */
#include "base/isa.h"
#include "op/attend_window/internal.h"

int VV_ISA(vv_attend_window_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_attend_window *a = args;
    for (size_t unit = begin, count; unit < end; unit += count) {
        size_t row = unit / a->heads, head = unit % a->heads;
        struct vv_seen seen;
        count = a->heads - head < end - unit ? a->heads - head : end - unit;
        int error = vv_attend_window_runs(a, row, &seen);
        struct vv_attend_heads h = {.q = a->q + unit * a->width,
                                    .heads = count,
                                    .width = a->width,
                                    .scale = a->scale,
                                    .run = seen.run,
                                    .runs = seen.runs,
                                    .sink = a->sink + head,
                                    .y = a->y + unit * a->width};
        error = error == VV_OK ? VV_ISA(vv_attend_core_portable)(&h) : error;
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}
