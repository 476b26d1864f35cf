/*
 * Few rows of activations, by matrix units: a warp stages 16 weight rows of a segment and
 * multiplies them with all of up to 8 rows, so that a window costs little more than one row does.
 * `lanes` warps share the same 16 rows, each taking segments of its own.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

constexpr unsigned FEW = UNIT_COLUMNS, WARPS = THREADS / 32;

/* What a warp stages: weights once, activations a segment ahead. */
struct few_stage {
    staged_row weight[UNIT_ROWS], x[2][FEW];
};

/* A staged segment's products: r.s of rows g, g + 8, columns 2t, 2t + 1. */
template <int TYPE>
static __device__ __forceinline__ void few_segment(const staged_row *weight, const staged_row *x,
                                                   running &r) {
    unsigned g = threadIdx.x % 32 / 4, lane = threadIdx.x % 32;
    const uint32_t *low = weight[g].side, *high = weight[g + 8].side;
    begin_segment<TYPE>(r);
    VV_UNROLL
    for (unsigned j = 0; j < 4; j += 2) {
        unsigned b[4];
        vv_load_matrix(b, x[lane % 8].code + 32 * j + 16 * (lane / 8));
        VV_UNROLL
        for (unsigned i = j; i < j + 2; i++) {
            unsigned a[4];
            const unsigned mine[2] = {b[2 * (i - j)], b[2 * (i - j) + 1]};
            const uint32_t first[2] = {low[i], high[i]}, second[2] = {low[4 + i], high[4 + i]};
            load_codes(weight, i, a);
            add_group<TYPE>(a, mine, first, second, columns_of<TYPE>(x, i), r);
        }
    }
    end_segment<TYPE>(weight, x, r);
}

/* The row and half of it that this lane stages for its warp. */
template <int TYPE>
static __device__ __forceinline__ unit<TYPE> few_unit(const vv_product_job &job, const place &at,
                                                      const uint8_t *held) {
    unsigned slot = threadIdx.x / 32 / at.lanes * UNIT_ROWS + threadIdx.x % 32 / 2;
    return {held_row(at, held, slot), (unsigned)job.x.width, threadIdx.x % 2};
}

/* All segments of the block's slots, whose weights are held. `sum` [slots][FEW][stride]. */
template <int TYPE>
static __device__ __forceinline__ void
few_rows(const vv_product_job &job, const place &at, const rows_in_hand<FEW> &in_hand,
         const uint8_t *held, few_stage *stages, float *sum) {
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    unsigned first_slot = warp / at.lanes * UNIT_ROWS, by = at.lanes;
    few_stage &stage = stages[warp];
    unit<TYPE> u = few_unit<TYPE>(job, at, held);
    unsigned segment = first_slot < at.used ? warp % by : at.segments, turn = 0;
    auto copy = [&](unsigned of, unsigned to) {
        copy_segment<TYPE>(job.x, of, stage.x[to], in_hand.count, lane, 32,
                           [&](unsigned r) { return in_hand.x(r); });
    };
    if (segment < at.segments) {
        copy(segment, 0);
    }
    for (; segment < at.segments; segment += by, turn++) {
        u.stage(segment, stage.weight[lane / 2]);
        vv_copy_wait<0>();
        __syncwarp();
        if (segment + by < at.segments) {
            copy(segment + by, (turn + 1) % 2);
        }
        running r;
        few_segment<TYPE>(stage.weight, stage.x[turn % 2], r);
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned slot = first_slot + g + 8 * (i / 2);
            if (slot < at.used) {
                sum[(slot * FEW + 2 * t + i % 2) * at.stride + segment] = r.s[i];
            }
        }
        __syncwarp();
    }
}

} // namespace vv_products
