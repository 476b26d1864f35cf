/*
 * Selection of experts by a warp: each lane knows the best of its own, and the warp takes the best
 * of those again and again. A few dependent steps each, however many experts there are.
 */
#pragma once
#include "op/cuda/dot.cuh"

constexpr unsigned VV_ALL_LANES = 0xffffffffu;

/* Ascends with the score; 0 is less than that of any number. */
static __device__ inline uint32_t vv_order_of(float score) {
    return (uint32_t)(vv_selection_key(score, 0) >> 32);
}

struct vv_best {
    uint32_t order, expert;
};

/* Of experts lane, lane + 32 …, those that are left; of equal ones the first. */
static __device__ inline vv_best vv_best_of(const uint32_t *order, unsigned experts) {
    vv_best b = {0, VV_ALL_LANES};
    for (unsigned e = threadIdx.x % 32; e < experts; e += 32) {
        b = order[e] > b.order ? vv_best{order[e], e} : b;
    }
    return b;
}

/* Takes the best out of `order`, where 0 marks it; the warp's own memory. */
static __device__ inline unsigned vv_take_best(uint32_t *order, unsigned experts, vv_best *mine) {
    uint32_t top = __reduce_max_sync(VV_ALL_LANES, mine->order);
    uint32_t expert =
        __reduce_min_sync(VV_ALL_LANES, mine->order == top ? mine->expert : VV_ALL_LANES);
    if (mine->expert == expert) {
        order[expert] = 0;
        *mine = vv_best_of(order, experts);
    }
    return expert;
}

/* Those that are marked, ascending. */
static __device__ inline void vv_list_taken(const uint32_t *order, unsigned experts,
                                            int32_t *list) {
    unsigned lane = threadIdx.x % 32, n = 0;
    for (unsigned first = 0; first < experts; first += 32) {
        unsigned e = first + lane;
        bool taken = e < experts && order[e] == 0;
        unsigned who = __ballot_sync(VV_ALL_LANES, taken);
        if (taken) {
            list[n + (unsigned)__popc(who & ((1u << lane) - 1))] = (int32_t)e;
        }
        n += (unsigned)__popc(who);
    }
    __syncwarp();
}

/* The float sum of n values, by the whole warp. */
static __device__ inline float vv_sum_across(const float *x, unsigned n) {
    float sum = 0.0f;
    for (unsigned at = 0; at < n; at += VV_SEGMENT) {
        float lane = 0.0f;
        for (unsigned i = at + threadIdx.x % VV_LANES; i < at + VV_SEGMENT && i < n;
             i += VV_LANES) {
            lane += x[i];
        }
        sum += vv_add_lanes_across(lane);
    }
    return sum;
}
