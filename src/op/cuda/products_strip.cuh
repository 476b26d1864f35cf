/*
 * Many rows of activations where a warp can decode its own weights (products_lane.cuh): a strip of
 * WM · 16 weight rows by all TN rows of activations. A block's warps share the activations and
 * nothing else. Products of a segment are a warp's (products_strip_warp.cuh) or four warps'
 * together (products_strip_group.cuh).
 *
 * One barrier a stage says that the oldest is there and that the place of the one before it is
 * free.
 */
#pragma once
#include "op/cuda/products_strip_pipeline.cuh"
#include "op/cuda/products_strip_warp.cuh"

namespace vv_products {

/* The end of a tile at `now`. */
template <class SHAPE>
static __device__ __forceinline__ void
strip_end(const vv_product_job &job, const place &now, const rows_in_hand<SHAPE::TN> &rows,
          unsigned first_row, unsigned first_column, float (&total)[SHAPE::WM][SHAPE::NT][4],
          float *totals) {
    constexpr unsigned stride = SHAPE::TM + 1;
    if (now.part->end == VV_END_STORE && now.part->matrices == 1) {
        if (SHAPE::multiplies()) {
            store_tile<SHAPE>(job, now, rows, first_row, first_column, total);
        }
        return;
    }
    if (SHAPE::TILES == 1) { /* they lie where the stages were */
        vv_copy_wait<0>();
        __syncthreads();
    }
    if (SHAPE::multiplies()) {
        each_product<SHAPE>(total, [&](unsigned m_row, unsigned n_column, float &product) {
            totals[(first_column + n_column) * stride + first_row + m_row] = product;
        });
    }
    __syncthreads();
    auto product = [&](unsigned slot, unsigned r) { return totals[r * stride + slot]; };
    if (now.part->end == VV_END_GATED_MEAN) {
        finish_many_means<SHAPE::TN>(job, now, rows, product);
    } else {
        finish<SHAPE::TN>(job, now, rows, product);
    }
}

/* The block's products for the rows in hand, and their end. Stages follow each other across its
 * tiles. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void strip_block(const vv_product_job &job, const place &at,
                                                   const rows_in_hand<SHAPE::TN> &rows,
                                                   strip_memory<TYPE, SHAPE> &memory) {
    using memory_type = strip_memory<TYPE, SHAPE>;
    constexpr unsigned STAGES = memory_type::STAGES, SPAN = memory_type::SPAN;
    unsigned warp = threadIdx.x / 32, first_row = warp % SHAPE::STRIPS * SHAPE::WM * UNIT_ROWS;
    unsigned first_column = warp / SHAPE::STRIPS * SHAPE::NT * UNIT_COLUMNS;
    unsigned tiles = (at.outputs + strip_outputs<SHAPE>(at) - 1) / strip_outputs<SHAPE>(at);
    unsigned stages = (at.segments + SPAN - 1) / SPAN;
    unsigned ask_tile = 0, ask_n = 0, ask_place = 0, here = 0;
    /* Warps that multiply together do so where the first of them has rows. */
    unsigned first_used = SHAPE::GROUPS ? first_row / 64 * 64 : first_row;
    const strip_copies<TYPE, SHAPE> copy(job, at, tiles, rows, memory);
    auto segment = [&](const typename memory_type::stage &s, unsigned n, unsigned part,
                       float(&total)[SHAPE::WM][SHAPE::NT][4]) {
        if constexpr (SHAPE::GROUPS) {
            strip_segment_of_group<TYPE, SHAPE>(s, n, part, first_row, rows.count, total[0]);
        } else {
            strip_segment<TYPE, SHAPE>(s, n, part, first_row, first_column, rows.count, total);
        }
    };
    auto ask = [&] {
        if (ask_tile < tiles && SHAPE::copies()) {
            copy.stage(ask_tile, ask_n, memory.stages[ask_place]);
        }
        vv_copy_commit();
        ask_place = ask_place + 1 < STAGES ? ask_place + 1 : 0;
        if (++ask_n == stages) {
            ask_n = 0;
            ask_tile++;
        }
    };
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned i = 0; i < STAGES - 1; i++) {
        ask();
    }
    VV_UNROLL_BY(1)
    for (unsigned tile = 0; tile < tiles; tile++) {
        const place now = strip_place<SHAPE>(at, tile);
        float total[SHAPE::WM][SHAPE::NT][4] = {};
        VV_UNROLL_BY(1)
        for (unsigned n = 0; n < stages; n++) {
            vv_copy_wait<STAGES - 2>();
            __syncthreads();
            ask();
            VV_UNROLL_BY((SHAPE::NT <= 2 ? SPAN : 1))
            for (unsigned part = 0; part < SPAN; part++) {
                if (SHAPE::multiplies() && first_used < now.used && n * SPAN + part < at.segments) {
                    segment(memory.stages[here], n, part, total);
                }
            }
            here = here + 1 < STAGES ? here + 1 : 0;
        }
        strip_end<SHAPE>(job, now, rows, first_row, first_column, total, memory.totals());
    }
}

} // namespace vv_products
