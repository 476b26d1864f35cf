/* Entries by elements: a row's place is known by the window before its values are. */
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

/* Where a row's entry is; null: it has none. */
__device__ void *cache_entry(const cache_job &j, unsigned row) {
    const struct vv_cache_write &a = j.a;
    int32_t end = a.window->position[row] + 1;
    bool kept = (!a.every || end % a.every == 0) && (!j.crowded || stays(a.window, row, a.to.ring));
    int64_t index = a.every ? end / a.every - 1 : end - 1 + a.shift;
    return kept ? vv_state_at(&a.to, a.window->slot[row], index) : nullptr;
}

template <unsigned N> struct alignas(2 * N) narrow_values { uint16_t v[N]; };

/* Elements at .. at + N - 1 of what becomes a row's entry, all from `from` or all from `second`. */
template <unsigned N>
__device__ vv_values<N> load_elements(const cache_job &j, unsigned row, unsigned at) {
    const struct vv_cache_write &a = j.a;
    unsigned width = (unsigned)a.to.width, part = a.second ? width / 2 : width;
    bool beyond = at >= part;
    auto from = static_cast<const float *>(beyond ? a.second : a.from) + row * a.row_stride;
    return vv_load_values<N>(from + (beyond ? at - part : at));
}

template <unsigned N>
__device__ void store_elements(const cache_job &j, void *entry, unsigned at,
                               const vv_values<N> &values, vv_trouble trouble) {
    if (j.a.to.type != VV_TYPE_F16) {
        vv_store_values(static_cast<float *>(entry) + at, values);
        return;
    }
    narrow_values<N> narrow;
    bool good = true;
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        narrow.v[k] = vv_to_f16(values.v[k]);
        good = good && (narrow.v[k] & 0x7c00) != 0x7c00;
    }
    *reinterpret_cast<narrow_values<N> *>(static_cast<uint16_t *>(entry) + at) = narrow;
    if (!good) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

} // namespace
