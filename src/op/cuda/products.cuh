/*
 * The kernels of products. Which of them a job takes, and in what blocks, is products.cu's matter.
 */
#pragma once
#include "op/cuda/products_float.cuh"
#include "op/cuda/products_held.cuh"
#include "op/cuda/products_strip.cuh"
#include "op/cuda/products_strip_pipeline.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

/* Tiles of a few and of many rows: warps of 16 by 64 products, and of 64 by 32. */
using tile_of_64 = tile_shape<64, 64, 1, 8>;
using tile_of_128 = tile_shape<128, 128, 4, 4>;
/* Strips, by ways: of few rows of activations; of many, once and twice across a block. */
using strip_of_16 = strip_shape<4, 1, 2, 1, 4, 4>;
using strip_of_64 = strip_shape<8, 1, 8, 1, 1, 2>;
using strip_of_128 = strip_shape<8, 1, 8, 2, 1, 1>;
/* … that four warps multiply together, where others copy: twice 64 by 128. */
using group_of_128 = strip_shape<8, 1, 16, 1, 1, 1, true>;

/* Starts a kernel. */
typedef int start(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned threads,
                  size_t shared, void *stream);

/* products_one.cu, products_four.cu, products_eight.cu */
extern start start_one, start_four, start_eight;

/* Starts a kernel of blocks that hold weights. */
template <unsigned R>
int start_rows(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned threads,
               size_t shared, void *stream) {
    if (grid.turns > 1) {
        return vv_start_early(stream_kernel<R>, blocks, threads, shared, stream, job, grid);
    }
    return vv_start_together(grid.together, rows_kernel<R>, blocks, threads, shared, stream, job,
                             grid);
}

/* ---- the others: one format ---- */

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    decoded(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_block<1>(job, grid, [&](const place &at, const rows_in_hand<1> &rows) {
        decoded_row<TYPE>(job, at, rows.x(0), sum);
        __syncthreads();
        finish_sums<1>(job, at, rows, sum);
    });
}

template <int TYPE, class SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    tile(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    constexpr unsigned TN = SHAPE::TN;
    auto &memory = *vv_dynamic_shared<tile_memory<TYPE, SHAPE>>();
    run_block<TN>(job, grid, [&](const place &at, const rows_in_hand<TN> &rows) {
        tile_rows<TYPE, SHAPE>(job, at, rows, memory);
    });
}

template <int TYPE, class SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    strip(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    constexpr unsigned TN = SHAPE::TN;
    auto &memory = *vv_dynamic_shared<strip_memory<TYPE, SHAPE>>();
    run_block<TN>(job, grid, [&](const place &at, const rows_in_hand<TN> &rows) {
        strip_block<TYPE, SHAPE>(job, at, rows, memory);
    });
}

/* For what is stored as it is, of devices that have warpgroups. */
template <int TYPE, class SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    group(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<strip_memory<TYPE, SHAPE>>();
#if VV_PIPELINES
    run_pipeline<TYPE, SHAPE>(job, grid, memory);
#elif VV_WARPGROUPS
    constexpr unsigned TN = SHAPE::TN;
    run_block<TN>(job, grid, [&](const place &at, const rows_in_hand<TN> &rows) {
        strip_block<TYPE, SHAPE>(job, at, rows, memory);
    });
#else
    (void)memory;
#endif
}

struct strip_kernel {
    start *begin;
    size_t bytes;                /* of shared memory */
    unsigned rows, slots, tiles; /* of activations; of a tile; of a block, at most */
};

struct kernels {
    start *tile_few, *tile_many; /* or nullptr */
    start *decoded;
    size_t many_bytes;          /* of shared memory that tile_many takes */
    const strip_kernel *strips; /* by ways from VV_STRIPS_OF_16 on; or nullptr */
};

/* The kernels of a quantised type (products_super.cu, products_grid.cu, products_block.cu); NULL:
 * it isn't one. */
const kernels *super_kernels(int type);
const kernels *block_kernels(int type);
const kernels *grid_kernels(int type);

template <int TYPE, class SHAPE>
int start_tile(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned, size_t,
               void *stream) {
    return vv_start_early((tile<TYPE, SHAPE>), blocks, SHAPE::THREADS,
                          sizeof(tile_memory<TYPE, SHAPE>), stream, job, grid);
}

template <int TYPE>
int start_decoded(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned threads,
                  size_t shared, void *stream) {
    return vv_start_early(decoded<TYPE>, blocks, threads, shared, stream, job, grid);
}

template <int TYPE, class SHAPE>
int start_strip(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned, size_t,
                void *stream) {
    constexpr size_t bytes = sizeof(strip_memory<TYPE, SHAPE>);
    if constexpr (SHAPE::GROUPS) {
        return vv_start_early((group<TYPE, SHAPE>), blocks, SHAPE::THREADS, bytes, stream, job,
                              grid);
    } else {
        return vv_start_early((strip<TYPE, SHAPE>), blocks, SHAPE::THREADS, bytes, stream, job,
                              grid);
    }
}

template <int TYPE, class SHAPE>
constexpr strip_kernel strip_of = {start_strip<TYPE, SHAPE>, sizeof(strip_memory<TYPE, SHAPE>),
                                   SHAPE::TN, SHAPE::TM, SHAPE::TILES};

template <int TYPE>
constexpr strip_kernel strips_of_type[] = {strip_of<TYPE, strip_of_16>, strip_of<TYPE, strip_of_64>,
                                           strip_of<TYPE, strip_of_128>,
                                           strip_of<TYPE, group_of_128>};

/* Many rows go by strips where the format has them, else by tiles. */
template <int TYPE> constexpr kernels kernels_of_type() {
    if constexpr (lane_codes<TYPE>::HERE) {
        return {nullptr, nullptr, start_decoded<TYPE>, 0, strips_of_type<TYPE>};
    } else {
        return {start_tile<TYPE, tile_of_64>, start_tile<TYPE, tile_of_128>, start_decoded<TYPE>,
                sizeof(tile_memory<TYPE, tile_of_128>), nullptr};
    }
}

template <int TYPE> struct starters { static constexpr kernels list = kernels_of_type<TYPE>(); };

#define VV_KERNELS(TYPE)                                                                           \
    case VV_TYPE_##TYPE:                                                                           \
        return &starters<VV_TYPE_##TYPE>::list;

} // namespace vv_products
