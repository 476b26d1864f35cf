/*
 * route: a warp a row.
 *
 * route_group: one block for a few rows, a thread an expert. For many rows, a block an expert,
 * which reads all pairs, and a second kernel that lists who has some. No block waits for another
 * one.
 */
#include "op/route/cuda_select.cuh"
VV_C_BEGIN
#include "op/route/contract.h"
VV_C_END

namespace {

/* ---- route ---- */

enum { ROUTE_WARPS = 4 };

__device__ size_t words_a_row(const struct vv_route *a) {
    return a->experts + a->used;
}

__global__ void __launch_bounds__(32 * ROUTE_WARPS)
    route(struct vv_route a, size_t rows, vv_trouble trouble) {
    vv_follow();
    size_t row = (size_t)blockIdx.x * ROUTE_WARPS + threadIdx.x / 32;
    unsigned lane = threadIdx.x % 32, experts = (unsigned)a.experts, used = (unsigned)a.used;
    if (row >= rows) {
        return;
    }
    uint32_t *order = vv_dynamic_shared<uint32_t>() + threadIdx.x / 32 * words_a_row(&a);
    float *e = reinterpret_cast<float *>(order + experts);
    const float *logit = a.logits + row * experts;
    int32_t *expert = a.expert + row * used;
    bool bad = false;
    for (unsigned i = lane; i < experts; i += 32) {
        bad = bad || isnan(logit[i]);
        order[i] = vv_order_of(logit[i]);
    }
    vv_best mine = vv_best_of(order, experts);
    bad = __any_sync(VV_ALL_LANES, bad);
    float largest = bad ? NAN : logit[vv_take_best(order, experts, &mine)];
    if (!isfinite(largest)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    for (unsigned j = 1; j < used; j++) {
        vv_take_best(order, experts, &mine);
    }
    __syncwarp();
    vv_list_taken(order, experts, expert);
    for (unsigned j = lane; j < used; j += 32) {
        e[j] = vv_exp(logit[expert[j]] - largest);
    }
    __syncwarp();
    float inverse = 1.0f / vv_sum_across(e, used);
    for (unsigned j = lane; j < used; j += 32) {
        a.weight[row * used + j] = e[j] * inverse;
    }
}

constexpr size_t shared_most = 48 << 10;

size_t route_shared(const struct vv_route *a) {
    return ROUTE_WARPS * (a->experts + a->used) * sizeof(uint32_t);
}

bool route_fits(const void *args) {
    return route_shared(static_cast<const struct vv_route *>(args)) <= shared_most;
}

int launch_route(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_route *>(args);
    size_t rows = vv_rows(a->rows);
    return vv_start_early(route, vv_blocks(rows, ROUTE_WARPS), 32 * ROUTE_WARPS, route_shared(a),
                          on->stream, *a, rows, vv_trouble_of(on));
}

/* ---- route_group ---- */

enum { LIST_THREADS = 512, LIST_WARPS = LIST_THREADS / 32, FEW_PAIRS = 256 };
enum { GROUP_THREADS = 256, GROUP_WARPS = GROUP_THREADS / 32 };

/* The expert of a pair. One that doesn't exist is told, and replaced by one that does, so that what
 * follows stays within its memory. */
__device__ int32_t expert_of(const struct vv_route_group *a, size_t pair, vv_trouble trouble) {
    int32_t e = a->expert[pair];
    if (e < 0 || (size_t)e >= a->experts) {
        vv_report(trouble, VV_ERROR_INVALID);
        return 0;
    }
    return e;
}

/* Lists the experts that have pairs, by one block, once `begin` stands. */
__device__ void list_active(const struct vv_route_group *a) {
    __shared__ unsigned found[LIST_WARPS];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, listed = 0;
    for (size_t first = 0; first < a->experts; first += LIST_THREADS) {
        size_t e = first + threadIdx.x;
        bool active = e < a->experts && a->begin[e] < a->begin[e + 1];
        unsigned who = __ballot_sync(VV_ALL_LANES, active), before = listed;
        found[warp] = (unsigned)__popc(who);
        __syncthreads();
        for (unsigned w = 0; w < LIST_WARPS; w++) {
            before += w < warp ? found[w] : 0;
            listed += found[w];
        }
        if (active) {
            a->active[1 + before + (unsigned)__popc(who & ((1u << lane) - 1))] = (int32_t)e;
        }
        __syncthreads();
    }
    for (size_t i = listed + threadIdx.x; i < a->experts; i += LIST_THREADS) {
        a->active[1 + i] = -1;
    }
    if (threadIdx.x == 0) {
        a->active[0] = (int32_t)listed;
    }
}

__global__ void __launch_bounds__(LIST_THREADS) list(struct vv_route_group a) {
    vv_follow();
    list_active(&a);
}

__global__ void __launch_bounds__(LIST_THREADS)
    group_few(struct vv_route_group a, int32_t pairs, vv_trouble trouble) {
    vv_follow();
    __shared__ int32_t expert[FEW_PAIRS];
    for (int32_t i = (int32_t)threadIdx.x; i < pairs; i += LIST_THREADS) {
        expert[i] = expert_of(&a, (size_t)i, trouble);
    }
    __syncthreads();
    for (int32_t e = (int32_t)threadIdx.x; e <= (int32_t)a.experts; e += LIST_THREADS) {
        int32_t begin = 0, equal = 0;
        for (int32_t i = 0; i < pairs; i++) {
            begin += expert[i] < e;
            equal += expert[i] == e;
        }
        a.begin[e] = begin;
        for (int32_t i = 0, at = begin; at < begin + equal; i++) {
            if (expert[i] == e) {
                a.pair[at++] = i;
            }
        }
    }
    __syncthreads();
    list_active(&a);
}

/* Each warp takes a stretch of the pairs. */
__global__ void __launch_bounds__(GROUP_THREADS)
    group_many(struct vv_route_group a, unsigned pairs, vv_trouble trouble) {
    vv_follow();
    __shared__ unsigned below[GROUP_WARPS], equal[GROUP_WARPS];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t mine = (int32_t)blockIdx.x;
    unsigned each = (pairs + GROUP_THREADS - 1) / GROUP_THREADS * 32, first = warp * each;
    unsigned end = first + each < pairs ? first + each : pairs, less = 0, same = 0;
    for (unsigned i = first + lane; i < end; i += 32) {
        int32_t e = expert_of(&a, i, trouble);
        less += e < mine;
        same += e == mine;
    }
    less = __reduce_add_sync(VV_ALL_LANES, less);
    same = __reduce_add_sync(VV_ALL_LANES, same);
    below[warp] = less;
    equal[warp] = same;
    __syncthreads();
    unsigned begin = 0, at = 0;
    for (unsigned w = 0; w < GROUP_WARPS; w++) {
        begin += below[w];
        at += w < warp ? equal[w] : 0;
    }
    at += begin;
    for (unsigned i = first; same > 0 && i < end; i += 32) {
        bool here = i + lane < end && expert_of(&a, i + lane, trouble) == mine;
        unsigned who = __ballot_sync(VV_ALL_LANES, here);
        if (here) {
            a.pair[at + (unsigned)__popc(who & ((1u << lane) - 1))] = (int32_t)(i + lane);
        }
        at += (unsigned)__popc(who);
    }
    if (threadIdx.x == 0) {
        a.begin[mine] = (int32_t)begin;
        if ((size_t)mine + 1 == a.experts) {
            a.begin[a.experts] = (int32_t)pairs;
        }
    }
}

int launch_group(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_route_group *>(args);
    size_t pairs = vv_rows(a->rows) * a->used;
    if (pairs <= FEW_PAIRS) {
        return vv_start_early(group_few, 1, LIST_THREADS, 0, on->stream, *a, (int32_t)pairs,
                              vv_trouble_of(on));
    }
    int code = vv_start_early(group_many, (unsigned)a->experts, GROUP_THREADS, 0, on->stream, *a,
                              (unsigned)pairs, vv_trouble_of(on));
    return code == VV_OK ? vv_start_early(list, 1, LIST_THREADS, 0, on->stream, *a) : code;
}

const vv_variant route_variants[] = {
    {"route/cuda", VV_CUDA_ANY, true, route_fits, nullptr, nullptr, launch_route, nullptr},
    {},
};

const vv_variant group_variants[] = {
    {"route_group/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_group, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_route[] = {
    {"route", route_variants}, {"route_group", group_variants}, {}};
