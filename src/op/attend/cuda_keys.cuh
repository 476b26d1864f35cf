/* What a row attends to, and where it lies. */
#pragma once
#include "op/attend/cuda_softmax.cuh"
VV_C_BEGIN
#include "op/attend/contract.h"
VV_C_END

namespace {

/* The operation as a kernel takes it: the window's arrays where the device has them. */
struct task {
    struct vv_attend a;
    const int32_t *position, *slot;
    vv_trouble trouble;
};

struct keys {
    uint32_t slot;         /* of the state */
    uint32_t count;        /* keys */
    uint32_t listed, seen; /* blocks; 0 and the row's length where there are no lists */
};

__device__ keys keys_of(const task &t, size_t row) {
    uint32_t length = (uint32_t)t.position[row] + 1;
    keys k = {(uint32_t)t.slot[row], length, 0, length};
    if (t.a.list) {
        uint32_t ratio = (uint32_t)t.a.ratio;
        k.seen = length / ratio;
        k.listed = (uint32_t)t.a.listed[row];
        k.count = k.listed * ratio + (length - k.seen * ratio);
    }
    return k;
}

/* The same for lists as top_k makes them, which the window alone tells. */
__device__ keys keys_guessed(const task &t, size_t row) {
    uint32_t length = (uint32_t)t.position[row] + 1;
    keys k = {(uint32_t)t.slot[row], length, 0, length};
    if (t.a.list) {
        uint32_t ratio = (uint32_t)t.a.ratio, keep = (uint32_t)t.a.keep;
        k.seen = length / ratio;
        k.listed = k.seen < keep ? k.seen : keep;
        k.count = k.listed * ratio + (length - k.seen * ratio);
    }
    return k;
}

/* Whether there are keys and no more blocks than a list holds; trouble is told. */
__device__ bool keys_valid(const task &t, const keys &k) {
    bool valid = k.count > 0 && k.listed <= t.a.keep;
    if (!valid) {
        vv_report(t.trouble, VV_ERROR_INVALID);
    }
    return valid;
}

/* What the row's list says of key i, as far as it has room. */
__device__ uint32_t listed_block(const task &t, size_t row, uint32_t i) {
    uint32_t at = t.a.list ? i / (uint32_t)t.a.ratio : 0;
    return t.a.list && at < t.a.keep ? (uint32_t)t.a.list[row * t.a.keep + at] : 0;
}

/* The entry of key i < count, of which the list says `block`; one that the row doesn't see is
 * trouble. */
__device__ uint32_t entry_from(const task &t, const keys &k, uint32_t i, uint32_t block) {
    if (!t.a.list) {
        return i;
    }
    uint32_t ratio = (uint32_t)t.a.ratio, listed = k.listed * ratio;
    if (i >= listed) {
        return k.seen * ratio + (i - listed);
    }
    if (block >= k.seen) {
        vv_report(t.trouble, VV_ERROR_INVALID);
        return 0;
    }
    return block * ratio + i % ratio;
}

__device__ uint32_t entry_of(const task &t, const keys &k, size_t row, uint32_t i) {
    return entry_from(t, k, i, listed_block(t, row, i));
}

__device__ const uint8_t *entry_at(const struct vv_state_view &v, const keys &k, uint32_t entry) {
    return v.base + k.slot * v.slot_stride + entry * v.entry_stride;
}

__host__ __device__ inline size_t element_bytes(const struct vv_state_view &v) {
    return v.type == VV_TYPE_F16 ? 2 : 4;
}

__device__ float gate_at(const task &t, size_t row, size_t head, size_t d) {
    return t.a.gate[row * t.a.gate_row + head * t.a.gate_head + d];
}

__device__ float gated(const task &t, size_t row, size_t head, size_t d, float o, float inverse) {
    return (o * inverse) * vv_sigmoid(gate_at(t, row, head, d));
}

} // namespace
