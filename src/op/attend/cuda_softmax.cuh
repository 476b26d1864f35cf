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
 * A half warp: scores of a chunk, -inf where there is no key, of N heads become p; each thread gets
 * m_c and l_c of head vv_scattered_first<N, 8, 1> of its lane. A chunk begins at a multiple of 64,
 * so key j is in lane j mod 16. Half warps that have no scores come here, too, with `here` false.
 */
template <int N>
static __device__ inline float2 chunk_softmaxes(vv_trouble trouble,
                                                float *const (&z)[N] /* [CHUNK] shared */,
                                                const bool (&here)[N]) {
    unsigned lane = threadIdx.x % VV_LANES, own = vv_scattered_first<N, VV_LANES / 2, 1>(lane);
    float mine[N][CHUNK / VV_LANES], top[N], sum[N];
    VV_UNROLL
    for (unsigned n = 0; n < N; n++) {
        top[n] = -INFINITY;
        sum[n] = 0.0f;
        for (unsigned i = 0; i < CHUNK / VV_LANES; i++) {
            mine[n][i] = here[n] ? z[n][lane + i * VV_LANES] : 0.0f;
            top[n] = fmaxf(top[n], mine[n][i]);
        }
    }
    for (int apart = VV_LANES / 2; apart > 0; apart /= 2) {
        VV_UNROLL
        for (unsigned n = 0; n < N; n++) {
            top[n] = fmaxf(top[n], __shfl_xor_sync(0xffffffffu, top[n], apart));
        }
    }
    float most = top[0];
    bool there = here[0];
    VV_UNROLL
    for (unsigned n = 0; n < N; n++) {
        for (unsigned i = 0; i < CHUNK / VV_LANES; i++) {
            mine[n][i] = vv_exp(mine[n][i] - top[n]);
            sum[n] += mine[n][i];
            if (here[n]) {
                z[n][lane + i * VV_LANES] = mine[n][i];
            }
        }
        most = own == n ? top[n] : most;
        there = own == n ? here[n] : there;
    }
    vv_scatter_sums<N, VV_LANES / 2, 1>(sum, lane);
    if (there && isnan(sum[0])) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
    return make_float2(most, sum[0]);
}

/* One head: all of the half warp get its m_c and l_c. */
static __device__ inline float2 chunk_softmax(vv_trouble trouble, float *z /* [CHUNK] shared */,
                                              bool here) {
    return chunk_softmaxes<1>(trouble, {z}, {here});
}

} // namespace
