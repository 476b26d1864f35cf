/*
 * Few rows of activations, by matrix units: a warp stages 16 weight rows of a segment and
 * multiplies them with all of up to 8 rows, so that a window costs what one row does. `lanes` warps
 * share the same 16 rows, each taking segments of its own.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

constexpr unsigned FEW = UNIT_COLUMNS, WARPS = THREADS / 32;

/* Where a lane finds its rows of activations: column g's codes, columns 2t's and 2t + 1's scales.
 */
struct few_columns {
    size_t codes; /* of its row, in values */
    unsigned row[2];
};

template <int TYPE>
static __device__ __forceinline__ void load_few(const vv_planes &x, size_t row_begin,
                                                unsigned segment, unsigned (&b)[4][2]) {
    unsigned t = threadIdx.x % 4, groups = (unsigned)x.width / 32;
    const int8_t *q = vv_codes::of<TYPE>::SUPER ? x.coarse_q : x.fine_q;
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        unsigned k = 4 * segment + j;
        const unsigned *at =
            reinterpret_cast<const unsigned *>(q + row_begin + 32 * (k < groups ? k : 0)) + t;
        b[j][0] = __ldg(at);
        b[j][1] = __ldg(at + 4);
    }
}

/* A segment's products of the warp's 16 staged rows: r.s of rows g, g + 8, columns 2t, 2t + 1. */
template <int TYPE>
static __device__ __forceinline__ void few_segment(const vv_planes &x, const few_columns &c,
                                                   unsigned segment, const staged_row *rows,
                                                   running &r) {
    using f = vv_codes::of<TYPE>;
    unsigned width = (unsigned)x.width, groups = width / 32;
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t *low = rows[g].side, *high = rows[g + 8].side;
    unsigned b[4][2];
    load_few<TYPE>(x, c.codes, segment, b);
    begin_segment<TYPE>(r);
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        unsigned a[4], k = 4 * segment + j;
        const uint32_t first[2] = {low[j], high[j]}, second[2] = {low[4 + j], high[4 + j]};
        columns columns = {};
        if (!f::SUPER) {
            VV_UNROLL
            for (int i = 0; i < 2; i++) {
                size_t at = (size_t)c.row[i] * groups + (k < groups ? k : 0);
                columns.scale[i] = k < groups ? x.fine_scale[at] : 0.0f;
                columns.sum[i] =
                    f::OFFSET ? (float)(x.fine_sum16[2 * at] + x.fine_sum16[2 * at + 1]) : 0.0f;
            }
        }
        load_codes(rows, j, a);
        add_group<TYPE>(a, b[j], first, second, columns, r);
    }
    if (f::SUPER) {
        size_t segments = (width + 127) / 128;
        const float scale[2] = {x.coarse_scale[c.row[0] * segments + segment],
                                x.coarse_scale[c.row[1] * segments + segment]};
        uint32_t sums = 0;
        if (f::OFFSET) {
            const int16_t *at = x.coarse_sum16 + (c.codes + 128 * segment) / 16 + 2 * t;
            sums = pack_halves(at[0], at[1]);
        }
        end_segment<TYPE>(low, high, sums, scale, r);
    }
}

/* All segments of the block's slots. `sum` [slots][FEW][stride]. */
template <int TYPE>
static __device__ __forceinline__ void few_rows(const vv_product_job &job, const place &at,
                                                const rows_in_hand<FEW> &in_hand,
                                                staged_row *staged, float *sum) {
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    unsigned first_slot = warp / at.lanes * UNIT_ROWS, width = (unsigned)job.x.width;
    staged_row *rows = staged + warp * UNIT_ROWS;
    const uint8_t *weights = row_of_slot(at, first_slot + lane / 2);
    few_columns c = {(size_t)in_hand.x(g) * width, {in_hand.x(2 * t), in_hand.x(2 * t + 1)}};
    unit<TYPE> u;
    unsigned segment = first_slot < at.used ? warp % at.lanes : at.segments;
    if (segment < at.segments) {
        u.take(weights, width, segment, lane % 2);
    }
    for (; segment < at.segments; segment += at.lanes) {
        u.stage(lane % 2, rows[lane / 2]);
        __syncwarp();
        if (segment + at.lanes < at.segments) {
            u.take(weights, width, segment + at.lanes, lane % 2);
        }
        running r;
        few_segment<TYPE>(job.x, c, segment, rows, r);
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
