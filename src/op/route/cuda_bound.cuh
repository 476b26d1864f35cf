/*
 * Selection of experts by a warp that holds their scores in registers. Each lane's largest is one
 * of the scores, so as many are not less than the `used`-th largest of those as are wanted: it
 * bounds who can be chosen, and mostly leaves hardly more. A lane each of those then counts who
 * comes before it. No step waits for the step of another expert.
 */
#pragma once
#include "op/route/cuda_select.cuh"

enum { VV_HELD = 16 }; /* scores of a lane: of experts lane, lane + 32 … */

/* What a warp needs of shared memory. */
struct vv_bound_shared {
    alignas(16) uint32_t order[32];
    uint32_t expert[32];
    float e[32];
};

/* The lane's expert if it has one that is chosen: the listed-th of them. */
struct vv_chosen {
    bool here;
    unsigned expert, listed;
    uint32_t order, largest; /* its own; of all experts */
};

/* The score that has the order; -0 becomes +0. */
static __device__ inline float vv_score_of(uint32_t order) {
    return vv_from_bits(order >> 31 ? order ^ 0x80000000u : ~order);
}

/* How many of the 32 orders in shared memory are over `mine`, and how many of those before `lane`
 * are the same. */
static __device__ inline unsigned vv_count_over(const uint32_t *order, uint32_t mine,
                                                unsigned lane) {
    unsigned over = 0;
    VV_UNROLL
    for (unsigned i = 0; i < 32; i += 4) {
        uint4 four = *reinterpret_cast<const uint4 *>(order + i);
        over += (four.x > mine) + (four.y > mine) + (four.z > mine) + (four.w > mine);
        over += i < lane && four.x == mine;
        over += i + 1 < lane && four.y == mine;
        over += i + 2 < lane && four.z == mine;
        over += i + 3 < lane && four.w == mine;
    }
    return over;
}

/* Whether the bound left no more than a lane each can take. `order` is 0 where there is no
 * expert; used: 32 at most. */
static __device__ inline bool vv_choose(const uint32_t (&order)[VV_HELD], unsigned used,
                                        vv_bound_shared *m, vv_chosen *chosen) {
    unsigned lane = threadIdx.x % 32, n = 0;
    uint32_t most = 0;
    VV_UNROLL
    for (unsigned i = 0; i < VV_HELD; i++) {
        most = order[i] > most ? order[i] : most;
    }
    m->order[lane] = most;
    __syncwarp();
    bool high = vv_count_over(m->order, most, lane) < used;
    uint32_t bound = __reduce_min_sync(VV_ALL_LANES, high ? most : VV_ALL_LANES);
    chosen->largest = __reduce_max_sync(VV_ALL_LANES, most);
    __syncwarp(); /* all have read */
    m->order[lane] = 0;
    __syncwarp();
    VV_UNROLL
    for (unsigned i = 0; i < VV_HELD; i++) {
        bool here = order[i] >= bound;
        unsigned who = __ballot_sync(VV_ALL_LANES, here);
        unsigned at = n + (unsigned)__popc(who & ((1u << lane) - 1));
        if (here && at < 32) {
            m->order[at] = order[i];
            m->expert[at] = i * 32 + lane;
        }
        n += (unsigned)__popc(who);
    }
    __syncwarp();
    chosen->order = m->order[lane];
    chosen->expert = m->expert[lane];
    chosen->here = lane < n && vv_count_over(m->order, chosen->order, lane) < used;
    unsigned who = __ballot_sync(VV_ALL_LANES, chosen->here);
    chosen->listed = (unsigned)__popc(who & ((1u << lane) - 1));
    return n <= 32;
}
