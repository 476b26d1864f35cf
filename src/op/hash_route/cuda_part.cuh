/* A row by a block of threads: scores by all of it, the choice by its first warp. */
#pragma once
#include "op/route/cuda_select.cuh"
VV_C_BEGIN
#include "op/hash_route/contract.h"
VV_C_END

namespace {

__device__ float score_of(float logit) {
    return sqrtf(vv_softplus(logit));
}

/* The experts that the table has for a row, ascending. */
__device__ int list_from_table(const struct vv_hash_route *a, size_t row, int32_t *expert) {
    int32_t token = a->window->token[row], used = (int32_t)a->used;
    if (token < 0 || (size_t)token >= a->tokens) {
        return VV_ERROR_INVALID;
    }
    const int32_t *listed = a->table + (size_t)token * a->used;
    bool bad = false;
    VV_UNROLL_BY(1)
    for (int32_t j = (int32_t)threadIdx.x % 32; j < used; j += 32) {
        int32_t at = 0;
        VV_UNROLL_BY(1)
        for (int32_t i = 0; i < used; i++) {
            at += listed[i] < listed[j] || (listed[i] == listed[j] && i < j);
        }
        expert[at] = listed[j];
        bad = bad || listed[j] < 0 || (size_t)listed[j] >= a->experts;
    }
    return __any_sync(VV_ALL_LANES, bad) ? VV_ERROR_INVALID : VV_OK;
}

/* Those of the largest scores. */
__device__ void list_best_experts(const struct vv_hash_route *a, uint32_t *order, int32_t *expert) {
    unsigned experts = (unsigned)a->experts;
    vv_best mine = vv_best_of(order, experts);
    VV_UNROLL_BY(1)
    for (size_t j = 0; j < a->used; j++) {
        vv_take_best(order, experts, &mine);
    }
    __syncwarp();
    vv_list_taken(order, experts, expert);
}

/* order: [experts + used] shared memory. */
__device__ void hash_route_row(const struct vv_hash_route &a, size_t row, uint32_t *order,
                               vv_trouble trouble) {
    unsigned lane = threadIdx.x, used = (unsigned)a.used;
    const float *logits = a.logits + row * a.experts;
    bool bad = false;
    VV_UNROLL_BY(1)
    for (unsigned e = threadIdx.x; e < a.experts && !a.table; e += blockDim.x) {
        float score = score_of(logits[e]) + a.bias[e];
        bad = bad || !isfinite(logits[e]) || isnan(score);
        a.score[row * a.experts + e] = score;
        order[e] = vv_order_of(score);
    }
    int code = __syncthreads_and(!bad) ? VV_OK : VV_ERROR_NOT_FINITE;
    if (lane >= 32) {
        return;
    }
    float *score = reinterpret_cast<float *>(order + a.experts);
    int32_t *expert = a.expert + row * used;
    if (a.table) {
        code = list_from_table(&a, row, expert);
    } else if (code == VV_OK) {
        list_best_experts(&a, order, expert);
    }
    if (code != VV_OK) {
        vv_report(trouble, code);
        return;
    }
    __syncwarp();
    bool finite = true;
    VV_UNROLL_BY(1)
    for (unsigned j = lane; j < used; j += 32) {
        float logit = logits[expert[j]];
        finite = finite && isfinite(logit);
        score[j] = score_of(logit);
    }
    if (!finite) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
    __syncwarp();
    float sum = vv_sum_across(score, used), factor = a.scale / (sum > 0x1p-14f ? sum : 0x1p-14f);
    VV_UNROLL_BY(1)
    for (unsigned j = lane; j < used; j += 32) {
        a.weight[row * used + j] = score[j] * factor;
    }
}

inline size_t hash_route_bytes(const struct vv_hash_route &a) {
    return (a.experts + a.used) * sizeof(uint32_t);
}

} // namespace
