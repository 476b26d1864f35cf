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
    static constexpr int WM = TILE_ROWS / UNIT_ROWS / ROWS_OF_WARPS;
    static constexpr int NT = TN / UNIT_COLUMNS / COLUMNS_OF_WARPS;
};

template <unsigned TN> struct tile_stage { staged_row weight[TILE_ROWS], x[TN]; };
template <unsigned TN> union tile_memory {
    tile_stage<TN> stage[2];
    float total[TN * TILE_STRIDE];
};

/* Starts to copy the codes of a segment of all rows. */
template <int TYPE, unsigned TN>
static __device__ __forceinline__ void copy_codes(const vv_planes &x, const rows_in_hand<TN> &rows,
                                                  unsigned segment, staged_row *to) {
    const int8_t *q = vv_codes::of<TYPE>::SUPER ? x.coarse_q : x.fine_q;
    VV_UNROLL
    for (unsigned i = threadIdx.x; i < TN * 8; i += THREADS) {
        unsigned r = i / 8, value = 128 * segment + 16 * (i % 8);
        bool here = value < x.width;
        const int8_t *from = q + (size_t)rows.x(r) * x.width + (here ? value : 0);
        vv_copy_async<16>(to[r].code + 16 * (i % 8), from, here ? 16 : 0);
    }
    vv_copy_commit();
}

/* What lies beside a row of activations, in the first TN threads' registers meanwhile. */
template <int TYPE> struct beside {
    uint32_t word[SIDE_WORDS - 3];
    VV_DEVICE void take(const vv_planes &x, unsigned row, unsigned segment) {
        using f = vv_codes::of<TYPE>;
        unsigned groups = (unsigned)x.width / 32;
        const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            unsigned k = 4 * segment + j;
            bool here = k < groups;
            size_t at = (size_t)row * groups + (here ? k : 0);
            if (!f::SUPER) {
                word[j] = here ? vv_bits(x.fine_scale[at]) : 0;
            }
            if (f::OFFSET) {
                int low = sum16[2 * at], high = sum16[2 * at + 1];
                word[4 + j] = f::SUPER ? pack_halves(low, high) : vv_bits((float)(low + high));
            }
        }
        if (f::SUPER) {
            word[8] = vv_bits(x.coarse_scale[(size_t)row * ((x.width + 127) / 128) + segment]);
        }
    }
    VV_DEVICE void stage(uint32_t *side) const {
        using f = vv_codes::of<TYPE>;
        VV_UNROLL
        for (int j = 0; j < 4; j++) {
            if (!f::SUPER) {
                side[j] = word[j];
            }
            if (f::OFFSET) {
                side[4 + j] = word[4 + j];
            }
        }
        if (f::SUPER) {
            side[8] = word[8];
        }
    }
};

/* Two tiles' fragments of columns from `rows` on, of group j. */
static __device__ __forceinline__ void load_columns(const staged_row *rows, unsigned j,
                                                    unsigned (&b)[2][2]) {
    unsigned lane = threadIdx.x % 32, to[4];
    vv_load_matrix(to, rows[lane % 8 + 8 * (lane / 16)].code + 32 * j + 16 * (lane / 8 % 2));
    b[0][0] = to[0], b[0][1] = to[1];
    b[1][0] = to[2], b[1][1] = to[3];
}

/* A staged segment; `tiles`: how many of the warp's tiles of columns there are. */
template <int TYPE, unsigned TN>
static __device__ __forceinline__ void
tile_segment(const tile_stage<TN> &stage, unsigned first_row, unsigned first_column, unsigned tiles,
             float (&total)[tile_shape<TN>::WM][tile_shape<TN>::NT][4]) {
    using f = vv_codes::of<TYPE>;
    constexpr int WM = tile_shape<TN>::WM, NT = tile_shape<TN>::NT;
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const staged_row *weight = stage.weight + first_row, *x = stage.x + first_column;
    running r[WM][NT];
    VV_UNROLL
    for (int i = 0; i < WM * NT; i++) {
        begin_segment<TYPE>(r[i / NT][i % NT]);
    }
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        unsigned a[WM][4], b[NT][2];
        uint32_t first[WM][2], second[WM][2];
        VV_UNROLL
        for (int m = 0; m < WM; m++) {
            load_codes(weight + UNIT_ROWS * m, j, a[m]);
            VV_UNROLL
            for (int i = 0; i < 2; i++) {
                const uint32_t *side = weight[UNIT_ROWS * m + 8 * i + g].side;
                first[m][i] = side[j];
                second[m][i] = side[4 + j];
            }
        }
        VV_UNROLL
        for (int n = 0; n < NT; n += 2) {
            if ((unsigned)n < tiles) {
                unsigned two[2][2];
                load_columns(x + UNIT_COLUMNS * n, j, two);
                for (int i = 0; i < 4; i++) {
                    b[n + i / 2][i % 2] = two[i / 2][i % 2];
                }
            }
        }
        VV_UNROLL
        for (int n = 0; n < NT; n++) {
            if ((unsigned)n >= tiles) {
                continue;
            }
            columns c = {};
            if (!f::SUPER) {
                VV_UNROLL
                for (unsigned i = 0; i < 2; i++) {
                    const uint32_t *side = x[UNIT_COLUMNS * n + 2 * t + i].side;
                    c.scale[i] = vv_from_bits(side[j]);
                    c.sum[i] = f::OFFSET ? vv_from_bits(side[4 + j]) : 0.0f;
                }
            }
            VV_UNROLL
            for (int m = 0; m < WM; m++) {
                add_group<TYPE>(a[m], b[n], first[m], second[m], c, r[m][n]);
            }
        }
    }
    VV_UNROLL
    for (int n = 0; n < NT; n++) {
        if ((unsigned)n >= tiles) {
            continue;
        }
        const staged_row *column = x + UNIT_COLUMNS * n;
        const float scale[2] = {vv_from_bits(column[2 * t].side[8]),
                                vv_from_bits(column[2 * t + 1].side[8])};
        VV_UNROLL
        for (int m = 0; m < WM; m++) {
            end_segment<TYPE>(weight[UNIT_ROWS * m + g].side, weight[UNIT_ROWS * m + 8 + g].side,
                              column[g].side[4 + t], scale, r[m][n]);
            VV_UNROLL
            for (int i = 0; i < 4; i++) {
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
    constexpr int WM = shape::WM, NT = shape::NT;
    unsigned warp = threadIdx.x / 32, thread = threadIdx.x, width = (unsigned)job.x.width;
    unsigned first_row = warp % shape::ROWS_OF_WARPS * WM * UNIT_ROWS;
    unsigned first_column = warp / shape::ROWS_OF_WARPS * NT * UNIT_COLUMNS;
    bool here = first_column < rows.count && first_row < at.used;
    unsigned columns_left = here ? rows.count - first_column : 0;
    unsigned tiles = (columns_left + UNIT_COLUMNS - 1) / UNIT_COLUMNS;
    const uint8_t *weights = row_of_slot(at, thread / 2);
    unsigned x_row = rows.x(thread % TN);
    float total[WM][NT][4] = {};
    unit<TYPE> u;
    beside<TYPE> side;
    auto fetch = [&](unsigned segment) {
        copy_codes<TYPE, TN>(job.x, rows, segment, memory.stage[segment % 2].x);
        if (thread / 2 < at.used) {
            u.take(weights, width, segment, thread % 2);
        }
        if (thread < TN) {
            side.take(job.x, x_row, segment);
        }
    };
    auto stage = [&](unsigned segment) {
        tile_stage<TN> &to = memory.stage[segment % 2];
        if (thread / 2 < at.used) {
            u.stage(thread % 2, to.weight[thread / 2]);
        }
        if (thread < TN) {
            side.stage(to.x[thread].side);
        }
    };
    fetch(0);
    stage(0);
    for (unsigned segment = 0; segment < at.segments; segment++) {
        vv_copy_wait<0>();
        __syncthreads();
        bool more = segment + 1 < at.segments;
        if (more) {
            fetch(segment + 1);
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
