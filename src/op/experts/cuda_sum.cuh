/* A value by a thread; what it adds up is asked for together. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/experts/contract.h"
VV_C_END

namespace {

enum { SUMMED_AT_ONCE = 8 };

__device__ inline void sum_experts(const struct vv_expert_sum &a, unsigned row, unsigned i) {
    unsigned width = (unsigned)a.width, used = (unsigned)a.used;
    const float *weight = a.weight + (size_t)row * used;
    const float *y = a.y + (size_t)row * used * width + i;
    size_t at = (size_t)row * width + i;
    float shared = a.shared[at], gate = a.shared_gate ? a.shared_gate[row] : 0.0f, sum = 0.0f;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < used; first += SUMMED_AT_ONCE) {
        float by[SUMMED_AT_ONCE], value[SUMMED_AT_ONCE];
        VV_UNROLL
        for (unsigned j = 0; j < SUMMED_AT_ONCE; j++) {
            bool here = first + j < used;
            by[j] = here && a.weight ? weight[first + j] : 1.0f;
            value[j] = here ? y[(size_t)(first + j) * width] : 0.0f;
        }
        VV_UNROLL
        for (unsigned j = 0; j < SUMMED_AT_ONCE; j++) {
            sum = first + j < used ? fmaf(by[j], value[j], sum) : sum;
        }
    }
    a.o[at] = fmaf(a.shared_gate ? vv_sigmoid(gate) : 1.0f, shared, sum);
}

} // namespace
