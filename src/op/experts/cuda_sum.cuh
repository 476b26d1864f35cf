/* A value by a thread, or four; what it adds up is asked for together. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/experts/contract.h"
VV_C_END

namespace {

enum { SUMMED_AT_ONCE = 8 };

/* Values i .. i + N - 1 of a row, N = 1 or 4. */
template <unsigned N>
__device__ inline void sum_experts(const struct vv_expert_sum &a, unsigned row, unsigned i) {
    unsigned width = (unsigned)a.width, used = (unsigned)a.used;
    const float *weight = a.weight + (size_t)row * used;
    const float *y = a.y + (size_t)row * used * width + i;
    size_t at = (size_t)row * width + i;
    vv_values<N> shared = vv_load_values<N>(a.shared + at), sum = {};
    float gate = a.shared_gate ? a.shared_gate[row] : 0.0f;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < used; first += SUMMED_AT_ONCE) {
        float by[SUMMED_AT_ONCE];
        vv_values<N> some[SUMMED_AT_ONCE];
        VV_UNROLL
        for (unsigned j = 0; j < SUMMED_AT_ONCE; j++) {
            bool here = first + j < used;
            unsigned e = here ? first + j : first;
            by[j] = here && a.weight ? weight[e] : 1.0f;
            some[j] = vv_load_values<N>(y + (size_t)e * width);
        }
        VV_UNROLL
        for (unsigned j = 0; j < SUMMED_AT_ONCE; j++) {
            VV_UNROLL
            for (unsigned k = 0; k < N; k++) {
                sum.v[k] = first + j < used ? fmaf(by[j], some[j].v[k], sum.v[k]) : sum.v[k];
            }
        }
    }
    float by = a.shared_gate ? vv_sigmoid(gate) : 1.0f;
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        sum.v[k] = fmaf(by, shared.v[k], sum.v[k]);
    }
    vv_store_values(a.o + at, sum);
}

} // namespace
