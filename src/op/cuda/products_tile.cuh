/*
 * Many rows of activations: a block multiplies 128 weight rows with TN rows of activations, segment
 * by segment through two stages of shared memory, and decodes each weight once for all of them. A
 * warp has WM·16 weight rows and NT·8 rows of activations; a row's segments are added as they come,
 * in ascending order.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

constexpr unsigned TILE_ROWS = 128, TILE_STRIDE = TILE_ROWS + 1;

template <unsigned TN> struct tile_shape {
    static constexpr unsigned ROWS_OF_WARPS = TN > 32 ? 4 : 8, COLUMNS_OF_WARPS = 8 / ROWS_OF_WARPS;
    static constexpr unsigned WM = TILE_ROWS / UNIT_ROWS / ROWS_OF_WARPS;
    static constexpr unsigned NT = TN / UNIT_COLUMNS / COLUMNS_OF_WARPS;
};

template <unsigned TN> struct tile_stage { staged_row weight[TILE_ROWS], x[TN]; };
template <unsigned TN> union tile_memory {
    tile_stage<TN> stage[2];
    float total[TN * TILE_STRIDE];
};

/* A staged segment; `tiles`: how many of the warp's tiles of columns there are. */
template <int TYPE, unsigned TN>
static __device__ __forceinline__ void
tile_segment(const tile_stage<TN> &stage, unsigned first_row, unsigned first_column, unsigned tiles,
             float (&total)[tile_shape<TN>::WM][tile_shape<TN>::NT][4]) {
    constexpr unsigned WM = tile_shape<TN>::WM, NT = tile_shape<TN>::NT;
    unsigned g = threadIdx.x % 32 / 4;
    const staged_row *weight = stage.weight + first_row, *x = stage.x + first_column;
    running r[WM][NT];
    VV_UNROLL
    for (unsigned i = 0; i < WM * NT; i++) {
        begin_segment<TYPE>(r[i / NT][i % NT]);
    }
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        unsigned a[WM][4], b[NT][2];
        uint32_t first[WM][2], second[WM][2];
        VV_UNROLL
        for (unsigned m = 0; m < WM; m++) {
            load_codes(weight + UNIT_ROWS * m, j, a[m]);
            VV_UNROLL
            for (unsigned i = 0; i < 2; i++) {
                const uint32_t *side = weight[UNIT_ROWS * m + 8 * i + g].side;
                first[m][i] = side[j];
                second[m][i] = side[4 + j];
            }
        }
        VV_UNROLL
        for (unsigned n = 0; n < NT; n += 2) {
            if (n < tiles) {
                unsigned two[2][2];
                load_two(x + UNIT_COLUMNS * n, j, two);
                for (unsigned i = 0; i < 4; i++) {
                    b[n + i / 2][i % 2] = two[i / 2][i % 2];
                }
            }
        }
        VV_UNROLL
        for (unsigned n = 0; n < NT; n++) {
            if (n >= tiles) {
                continue;
            }
            columns c = columns_of<TYPE>(x + UNIT_COLUMNS * n, j);
            VV_UNROLL
            for (unsigned m = 0; m < WM; m++) {
                add_group<TYPE>(a[m], b[n], first[m], second[m], c, r[m][n]);
            }
        }
    }
    VV_UNROLL
    for (unsigned n = 0; n < NT; n++) {
        if (n >= tiles) {
            continue;
        }
        VV_UNROLL
        for (unsigned m = 0; m < WM; m++) {
            end_segment<TYPE>(weight + UNIT_ROWS * m, x + UNIT_COLUMNS * n, r[m][n]);
            VV_UNROLL
            for (unsigned i = 0; i < 4; i++) {
                total[m][n][i] += r[m][n].s[i];
            }
        }
    }
}

/* The block's products for the rows in hand, and their end. */
template <int TYPE, unsigned TN>
static __device__ __forceinline__ void tile_rows(const vv_product_job &job, const place &at,
                                                 const rows_in_hand<TN> &rows,
                                                 tile_memory<TN> &memory) {
    using shape = tile_shape<TN>;
    constexpr unsigned WM = shape::WM, NT = shape::NT;
    unsigned warp = threadIdx.x / 32, thread = threadIdx.x;
    unsigned first_row = warp % shape::ROWS_OF_WARPS * WM * UNIT_ROWS;
    unsigned first_column = warp / shape::ROWS_OF_WARPS * NT * UNIT_COLUMNS;
    bool here = first_column < rows.count && first_row < at.used;
    unsigned columns_left = here ? rows.count - first_column : 0;
    unsigned tiles = (columns_left + UNIT_COLUMNS - 1) / UNIT_COLUMNS;
    unit<TYPE> u = {row_of_slot(at, thread / 2), (unsigned)job.x.width, thread % 2};
    float total[WM][NT][4] = {};
    auto copy = [&](unsigned segment) {
        copy_segment<TYPE>(job.x, segment, memory.stage[segment % 2].x, rows.count, thread, THREADS,
                           [&](unsigned r) { return rows.x(r); });
    };
    auto stage = [&](unsigned segment) {
        if (thread / 2 < at.used) {
            u.stage(segment, memory.stage[segment % 2].weight[thread / 2]);
        }
    };
    u.template fetch<false>(1);
    u.template fetch<false>(2);
    copy(0);
    stage(0);
    for (unsigned segment = 0; segment < at.segments; segment++) {
        vv_copy_wait<0>();
        __syncthreads();
        bool more = segment + 1 < at.segments;
        u.template fetch<true>(segment + 1);
        u.template fetch<false>(segment + 3);
        if (more) {
            copy(segment + 1);
        }
        tile_segment<TYPE, TN>(memory.stage[segment % 2], first_row, first_column, tiles, total);
        if (more) {
            stage(segment + 1);
        }
    }
    __syncthreads();
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    VV_UNROLL
    for (unsigned i = 0; i < WM * NT * 4; i++) {
        unsigned m = i / (NT * 4), n = i / 4 % NT, e = i % 4;
        unsigned slot = first_row + UNIT_ROWS * m + g + 8 * (e / 2);
        unsigned r = first_column + UNIT_COLUMNS * n + 2 * t + e % 2;
        memory.total[r * TILE_STRIDE + slot] = total[m][n][e];
    }
    __syncthreads();
    finish<TN>(job, at, rows,
               [&](unsigned slot, unsigned r) { return memory.total[r * TILE_STRIDE + slot]; });
}

} // namespace vv_products
