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

/* Elements [at, at + n) of an entry. */
static int write_part(int type, const void *from, void *entry, size_t at, size_t n) {
    if (type == VV_TYPE_F16) {
        return narrow(from, (uint16_t *)entry + at, n);
    }
    memcpy((uint32_t *)entry + at, from, n * 4);
    return VV_OK;
}

static int write_row(const struct vv_cache_write *a, size_t row) {
    int32_t end = a->window->position[row] + 1;
    int64_t index = a->every ? end / a->every - 1 : end - 1 + a->shift;
    void *entry = vv_state_at(&a->to, a->window->slot[row], index);
    size_t at = row * a->row_stride, n = a->second ? a->to.width / 2 : a->to.width;
    int error = write_part(a->to.type, (const uint32_t *)a->from + at, entry, 0, n);
    if (error == VV_OK && a->second) {
        error = write_part(a->to.type, (const uint32_t *)a->second + at, entry, n, n);
    }
    return error;
}

int vv_cache_write_reference(const void *args, size_t begin, size_t end) {
    const struct vv_cache_write *a = args;
    const struct vv_window *w = a->window;
    int error = VV_OK;
    for (size_t row = begin; row < end && error == VV_OK; row++) {
        int64_t age = a->to.ring ? newest_position(w, w->slot[row]) - w->position[row] : 0;
        bool completes = a->every == 0 || (w->position[row] + 1) % a->every == 0;
        if (completes && (a->to.ring == 0 || age < (int64_t)a->to.ring)) {
            error = write_row(a, row);
        }
    }
    return error;
}
