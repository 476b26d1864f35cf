#include "op/mtp_wide/internal.h"

#include <string.h>

int vv_mtp_wide_reference(const void *args, size_t begin, size_t end) {
    const struct vv_mtp_wide *a = args;
    const struct vv_window *w = a->window;
    for (size_t r = begin; r < end; r++) {
        const float *from = w->source[r] >= 0 ? a->wide + (size_t)w->source[r] * a->width
                                              : vv_state_at(&a->ring, w->slot[r], w->position[r]);
        memcpy(a->h + r * a->width, from, a->width * sizeof *from);
    }
    return VV_OK;
}
