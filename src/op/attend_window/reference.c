#include "op/attend_window/internal.h"

int vv_attend_window_reference(const void *args, size_t begin, size_t end) {
    const struct vv_attend_window *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        struct vv_seen seen;
        int error = vv_attend_window_runs(a, unit / a->heads, &seen);
        struct vv_attend_heads h = {.q = a->q + unit * a->width,
                                    .heads = 1,
                                    .width = a->width,
                                    .scale = a->scale,
                                    .run = seen.run,
                                    .runs = seen.runs,
                                    .sink = a->sink + unit % a->heads,
                                    .y = a->y + unit * a->width};
        error = error == VV_OK ? vv_attend_core_reference(&h) : error;
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}
