/* A warp a row. */
#include "op/route/cuda_select.cuh"
VV_C_BEGIN
#include "op/hash_route/contract.h"
VV_C_END

namespace {

enum { WARPS = 4 };

constexpr size_t shared_most = 48 << 10;

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
    for (int32_t j = (int32_t)threadIdx.x % 32; j < used; j += 32) {
        int32_t at = 0;
        for (int32_t i = 0; i < used; i++) {
            at += listed[i] < listed[j] || (listed[i] == listed[j] && i < j);
        }
        expert[at] = listed[j];
        bad = bad || listed[j] < 0 || (size_t)listed[j] >= a->experts;
    }
    return __any_sync(VV_ALL_LANES, bad) ? VV_ERROR_INVALID : VV_OK;
}

/* Those of the largest scores; `order`: shared memory of the warp. */
__device__ int select_best(const struct vv_hash_route *a, size_t row, uint32_t *order,
                           int32_t *expert) {
    unsigned experts = (unsigned)a->experts;
    bool bad = false;
    for (unsigned e = threadIdx.x % 32; e < experts; e += 32) {
        float logit = a->logits[row * experts + e], score = score_of(logit) + a->bias[e];
        bad = bad || !isfinite(logit) || isnan(score);
        a->score[row * experts + e] = score;
        order[e] = vv_order_of(score);
    }
    if (__any_sync(VV_ALL_LANES, bad)) {
        return VV_ERROR_NOT_FINITE;
    }
    vv_best mine = vv_best_of(order, experts);
    for (size_t j = 0; j < a->used; j++) {
        vv_take_best(order, experts, &mine);
    }
    __syncwarp();
    vv_list_taken(order, experts, expert);
    return VV_OK;
}

__global__ void __launch_bounds__(32 * WARPS)
    route(struct vv_hash_route a, size_t rows, vv_trouble trouble) {
    vv_follow();
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    unsigned lane = threadIdx.x % 32, used = (unsigned)a.used;
    if (row >= rows) {
        return;
    }
    uint32_t *order = vv_dynamic_shared<uint32_t>() + threadIdx.x / 32 * (a.experts + a.used);
    float *score = reinterpret_cast<float *>(order + a.experts);
    int32_t *expert = a.expert + row * used;
    int code = a.table ? list_from_table(&a, row, expert) : select_best(&a, row, order, expert);
    if (code != VV_OK) {
        vv_report(trouble, code);
        return;
    }
    __syncwarp();
    bool finite = true;
    for (unsigned j = lane; j < used; j += 32) {
        float logit = a.logits[row * a.experts + (size_t)expert[j]];
        finite = finite && isfinite(logit);
        score[j] = score_of(logit);
    }
    if (!finite) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
    __syncwarp();
    float sum = vv_sum_across(score, used), factor = a.scale / (sum > 0x1p-14f ? sum : 0x1p-14f);
    for (unsigned j = lane; j < used; j += 32) {
        a.weight[row * used + j] = score[j] * factor;
    }
}

size_t shared_of(const struct vv_hash_route *a) {
    return WARPS * (a->experts + a->used) * sizeof(uint32_t);
}

bool fits(const void *args) {
    return shared_of(static_cast<const struct vv_hash_route *>(args)) <= shared_most;
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_hash_route *>(args);
    size_t rows = vv_rows(a.rows);
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(route, vv_blocks(rows, WARPS), 32 * WARPS, shared_of(&a), on->stream, a,
                          rows, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"hash_route/cuda", VV_CUDA_ANY, true, fits, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_hash_route[] = {{"hash_route", variants}, {}};
