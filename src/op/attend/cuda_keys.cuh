/* What a row attends to, and where it lies. */
#pragma once
#include "device/cuda/dot.cuh"
VV_C_BEGIN
#include "op/attend/contract.h"
VV_C_END

namespace {

enum { CHUNK = 64 }; /* slots that form a chunk */

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
    const int32_t *block;  /* [listed] */
};

__device__ keys keys_of(const task &t, size_t row) {
    uint32_t length = (uint32_t)t.position[row] + 1;
    keys k = {(uint32_t)t.slot[row], length, 0, length, nullptr};
    if (t.a.list) {
        uint32_t ratio = (uint32_t)t.a.ratio;
        k.seen = length / ratio;
        k.listed = (uint32_t)t.a.listed[row];
        k.block = t.a.list + row * t.a.keep;
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

/* The entry of key i < count; one that the row doesn't see is trouble. */
__device__ uint32_t entry_of(const task &t, const keys &k, uint32_t i) {
    if (!t.a.list) {
        return i;
    }
    uint32_t ratio = (uint32_t)t.a.ratio, listed = k.listed * ratio;
    if (i >= listed) {
        return k.seen * ratio + (i - listed);
    }
    uint32_t block = (uint32_t)k.block[i / ratio];
    if (block >= k.seen) {
        vv_report(t.trouble, VV_ERROR_INVALID);
        return 0;
    }
    return block * ratio + i % ratio;
}

__device__ const uint8_t *entry_at(const struct vv_state_view &v, const keys &k, uint32_t entry) {
    return v.base + k.slot * v.slot_stride + entry * v.entry_stride;
}

__host__ __device__ inline size_t element_bytes(const struct vv_state_view &v) {
    return v.type == VV_TYPE_F16 ? 2 : 4;
}

/* One step of the merge: o = fma(o_c, b, o · a), and the same for l. */
struct merged {
    float m, l, a, b;
};
__device__ void merge(merged *s, float m_c, float l_c) {
    float most = fmaxf(s->m, m_c);
    s->a = vv_exp(s->m - most);
    s->b = vv_exp(m_c - most);
    s->l = fmaf(l_c, s->b, s->l * s->a);
    s->m = most;
}

/*
 * A half warp: scores of a chunk, -inf where there is no key, become p; returns m_c and l_c to all
 * of it. A chunk begins at a multiple of 64, so key j is in lane j mod 16. Half warps that have no
 * scores come here, too, with `here` false.
 */
__device__ float2 chunk_softmax(const task &t, float *z /* [CHUNK] shared */, bool here) {
    unsigned lane = threadIdx.x % VV_LANES;
    float mine[CHUNK / VV_LANES], top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < CHUNK / VV_LANES; i++) {
        mine[i] = here ? z[lane + (unsigned)i * VV_LANES] : 0.0f;
        top = fmaxf(top, mine[i]);
    }
    for (int apart = VV_LANES / 2; apart > 0; apart /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, apart));
    }
    for (int i = 0; i < CHUNK / VV_LANES; i++) {
        mine[i] = vv_exp(mine[i] - top);
        sum += mine[i];
        if (here) {
            z[lane + (unsigned)i * VV_LANES] = mine[i];
        }
    }
    sum = vv_add_lanes_across(sum);
    if (here && isnan(sum)) {
        vv_report(t.trouble, VV_ERROR_NOT_FINITE);
    }
    return make_float2(top, sum);
}

__device__ float gated(const task &t, size_t row, size_t head, size_t d, float o, float inverse) {
    float gate = t.a.gate[row * t.a.gate_row + head * t.a.gate_head + d];
    return (o * inverse) * vv_sigmoid(gate);
}

} // namespace
