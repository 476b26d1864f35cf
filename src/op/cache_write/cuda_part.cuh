/* A thread an element of an entry, whose place is known by the window before its value is. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/cache_write/contract.h"
VV_C_END

namespace {

/* Whether a ring holds the row's position at the window's end. */
__device__ bool stays(const vv_window *w, unsigned row, uint32_t ring) {
    int32_t slot = w->slot[row], newest = -1;
    VV_UNROLL_BY(1)
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t last = w->sequence_row[w->sequence_begin[i + 1] - 1];
        newest = w->slot[last] == slot ? w->position[last] : newest;
    }
    return newest - w->position[row] < (int64_t)ring;
}

/* A step with the window's arrays where the device has them. */
struct cache_job {
    struct vv_cache_write a;
    bool crowded; /* rows are more than the ring has */
};

inline cache_job cache_job_of(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_cache_write *>(args);
    size_t rows = vv_rows(a.rows);
    a.from = vv_on_device(on, a.from); /* tokens come from the window */
    a.second = vv_on_device(on, a.second);
    a.window = vv_on_device_as(on, a.window);
    return {a, a.to.ring > 0 && rows > a.to.ring};
}

/* Calls wait() when the place is known. */
template <typename Wait>
__device__ void write_element(const cache_job &j, unsigned row, unsigned at, vv_trouble trouble,
                              Wait wait) {
    const struct vv_cache_write &a = j.a;
    int32_t end = a.window->position[row] + 1;
    bool kept = at < a.to.width && (!a.every || end % a.every == 0) &&
                (!j.crowded || stays(a.window, row, a.to.ring));
    int64_t index = a.every ? end / a.every - 1 : end - 1 + a.shift;
    void *entry = vv_state_at(&a.to, a.window->slot[row], index);
    size_t part = a.second ? a.to.width / 2 : a.to.width;
    bool beyond = at >= part;
    auto from = static_cast<const uint32_t *>(beyond ? a.second : a.from) + row * a.row_stride;
    wait();
    if (!kept) {
        return;
    }
    uint32_t bits = from[beyond ? at - part : at];
    if (a.to.type != VV_TYPE_F16) {
        static_cast<uint32_t *>(entry)[at] = bits;
        return;
    }
    uint16_t narrow = vv_to_f16(vv_from_bits(bits));
    static_cast<uint16_t *>(entry)[at] = narrow;
    if ((narrow & 0x7c00) == 0x7c00) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

} // namespace
