#include "base/half.h"
#include "gguf/types.h"
#include "op/cache_write/contract.h"
#include "op/cache_write/internal.h"

#include <string.h>

/* The newest position that the window has of the sequence in `slot`. */
static int32_t newest_position(const struct vv_window *w, int32_t slot) {
    int32_t newest = -1;
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t last = w->sequence_row[w->sequence_begin[i + 1] - 1];
        if (w->slot[last] == slot) {
            newest = w->position[last];
        }
    }
    return newest;
}

static int narrow(const float *from, uint16_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = vv_to_f16(from[i]);
        if ((to[i] & 0x7c00) == 0x7c00) {
            return VV_ERROR_NOT_FINITE;
        }
    }
    return VV_OK;
}

int vv_cache_write_reference(const void *args, size_t begin, size_t end) {
    const struct vv_cache_write *a = args;
    const struct vv_window *w = a->window;
    int error = VV_OK;
    for (size_t row = begin; row < end && error == VV_OK; row++) {
        int32_t slot = w->slot[row], position = w->position[row];
        const uint8_t *from = (const uint8_t *)a->from + row * a->row_stride * 4;
        void *to = vv_state_at(&a->to, slot, position);
        if (a->to.ring > 0 && newest_position(w, slot) - position >= (int64_t)a->to.ring) {
            continue;
        }
        if (a->to.type == VV_TYPE_F16) {
            error = narrow((const float *)(const void *)from, to, a->to.width);
        } else {
            memcpy(to, from, a->to.width * 4);
        }
    }
    return error;
}
