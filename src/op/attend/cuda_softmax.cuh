/* The softmax of docs/arithmetic.md, section 5: chunks of keys, and their merge. */
#pragma once
#include "op/cuda/dot.cuh"

namespace {

enum { CHUNK = 64 }; /* slots that form a chunk */

/* Value i of an entry. */
static __device__ inline float element(const uint8_t *entry, int type, size_t i) {
    return type == VV_TYPE_F16 ? __half2float(reinterpret_cast<const __half *>(entry)[i])
                               : reinterpret_cast<const float *>(entry)[i];
}

/* One step of the merge: o = fma(o_c, b, o · a), and the same for l. */
struct merged {
    float m, l, a, b;
};
static __device__ inline void merge(merged *s, float m_c, float l_c) {
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
static __device__ inline float2 chunk_softmax(vv_trouble trouble, float *z /* [CHUNK] shared */,
                                              bool here) {
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
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
    return make_float2(top, sum);
}

} // namespace
