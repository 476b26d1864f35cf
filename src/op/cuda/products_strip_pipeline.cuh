/*
 * Strips that four warps multiply together, where four other warps copy for all: none waits for the
 * whole block, but who multiplies for a full stage and who copies for an empty one. For products
 * that are stored as they are. Emulated, it is the block of products_strip.cuh.
 */
#pragma once
#include "op/cuda/products_strip_group.cuh"

#if VV_PIPELINES
namespace vv_products {

/* Registers of a thread of those that multiply, and of those that copy: two groups and one. */
constexpr unsigned PIPELINE_MULTIPLIES = 232, PIPELINE_COPIES = 40;

/* Which stage is next, and for which time. */
template <unsigned STAGES> struct pipeline_place {
    unsigned here = 0, turn = 0;
    VV_DEVICE void next() {
        if (++here == STAGES) {
            here = 0;
            turn++;
        }
    }
};

template <int TYPE, class SHAPE>
static __device__ __forceinline__ void pipeline_copy(const strip_copies<TYPE, SHAPE> &copy,
                                                     unsigned stages,
                                                     strip_memory<TYPE, SHAPE> &memory) {
    pipeline_place<strip_memory<TYPE, SHAPE>::STAGES> to;
    VV_UNROLL_BY(1)
    for (unsigned n = 0; n < stages; n++, to.next()) {
        if (to.turn > 0) {
            vv_bulk_wait(&memory.empty[to.here], to.turn - 1);
        }
        copy.stage(0, n, memory.stages[to.here]);
        vv_arrive_with_copies(&memory.full[to.here]);
        vv_arrive(&memory.full[to.here]); /* with what was stored and not copied */
    }
}

template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
pipeline_multiply(const vv_product_job &job, const place &at, const rows_in_hand<SHAPE::TN> &rows,
                  unsigned stages, strip_memory<TYPE, SHAPE> &memory) {
    constexpr unsigned SPAN = strip_memory<TYPE, SHAPE>::SPAN;
    pipeline_place<strip_memory<TYPE, SHAPE>::STAGES> from;
    unsigned first_row = threadIdx.x / 32 * UNIT_ROWS;
    bool used = first_row / 64 * 64 < at.used; /* a row of the four warps' */
    float total[1][SHAPE::NT][4] = {};
    VV_UNROLL_BY(1)
    for (unsigned n = 0; n < stages; n++, from.next()) {
        vv_bulk_wait(&memory.full[from.here], from.turn);
        vv_show_to_unit();
        VV_UNROLL_BY(1)
        for (unsigned part = 0; part < SPAN; part++) {
            if (used && n * SPAN + part < at.segments) {
                strip_segment_of_group<TYPE, SHAPE>(memory.stages[from.here], n, part, first_row,
                                                    rows.count, total[0]);
            }
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            vv_arrive(&memory.empty[from.here]);
        }
    }
    store_tile<SHAPE>(job, at, rows, first_row, 0, total);
}

/* What run_block is to others, for jobs without experts. The two sides never meet again: what
 * registers each has is known from where they part to the end. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void run_pipeline(const vv_product_job &job,
                                                    const grid_of_job &grid,
                                                    strip_memory<TYPE, SHAPE> &memory) {
    constexpr unsigned STAGES = strip_memory<TYPE, SHAPE>::STAGES;
    constexpr unsigned SPAN = strip_memory<TYPE, SHAPE>::SPAN, TN = SHAPE::TN;
    static_assert(SHAPE::TILES == 1 && SHAPE::WM == 1 && SHAPE::MULTIPLIERS == 256,
                  "one tile by two groups of four warps");
    __shared__ unsigned list[2 * TN];
    const place at = find_place(job, grid);
    if (!begin_block(job)) {
        vv_wait_for_front();
    }
    const range all = rows_of(job, at, grid);
    const rows_in_hand<TN> rows = take_rows<TN>(job, all.first, all.end, TN, list);
    const strip_copies<TYPE, SHAPE> copy(job, at, 1, rows, memory);
    unsigned stages = (at.segments + SPAN - 1) / SPAN;
    if (threadIdx.x < STAGES) {
        vv_arrival(&memory.full[threadIdx.x], 2 * SHAPE::COPIERS);
        vv_arrival(&memory.empty[threadIdx.x], SHAPE::MULTIPLIERS / 32);
    }
    __syncthreads();
    if (SHAPE::copies()) {
        vv_fewer_registers<PIPELINE_COPIES>();
        pipeline_copy<TYPE, SHAPE>(copy, stages, memory);
    } else {
        vv_more_registers<PIPELINE_MULTIPLIES>();
        pipeline_multiply<TYPE, SHAPE>(job, at, rows, stages, memory);
    }
}

} // namespace vv_products
#endif
