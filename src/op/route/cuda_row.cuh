/* The groups of a single row, by a block of threads. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/route/contract.h"
VV_C_END

namespace {

enum { ROW_PAIRS_MOST = 32 };

/* Its experts, ascending: [ROW_PAIRS_MOST] of shared memory each. */
struct group_memory {
    int32_t given[ROW_PAIRS_MOST], sorted[ROW_PAIRS_MOST];
};

__device__ void group_row(const struct vv_route_group &a, group_memory *m, vv_trouble trouble) {
    unsigned experts = (unsigned)a.experts, used = (unsigned)a.used, j = threadIdx.x;
    bool here = j < used;
    int32_t mine = here ? a.expert[j] : 0;
    if (mine < 0 || (unsigned)mine >= experts) {
        vv_report(trouble, VV_ERROR_INVALID);
        mine = 0;
    }
    if (here) {
        m->given[j] = mine;
    }
    __syncthreads();
    if (here) {
        unsigned before = 0;
        VV_UNROLL_BY(1)
        for (unsigned i = 0; i < used; i++) {
            before += m->given[i] < mine || (m->given[i] == mine && i < j);
        }
        m->sorted[before] = mine;
        a.pair[before] = (int32_t)j;
    }
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned e = threadIdx.x; e <= experts; e += blockDim.x) {
        unsigned below = 0;
        VV_UNROLL_BY(1)
        for (unsigned i = 0; i < used; i++) {
            below += (unsigned)m->sorted[i] < e;
        }
        a.begin[e] = (int32_t)below;
    }
    if (threadIdx.x >= 32) {
        return;
    }
    bool first = here && (j == 0 || m->sorted[j] != m->sorted[j - 1]);
    unsigned who = __ballot_sync(0xffffffffu, first), found = (unsigned)__popc(who);
    if (first) {
        a.active[1 + (unsigned)__popc(who & ((1u << j) - 1))] = m->sorted[j];
    }
    VV_UNROLL_BY(1)
    for (unsigned i = found + threadIdx.x; i < experts; i += 32) {
        a.active[1 + i] = -1;
    }
    if (threadIdx.x == 0) {
        a.active[0] = (int32_t)found;
    }
}

} // namespace
