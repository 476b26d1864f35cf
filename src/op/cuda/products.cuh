/*
 * The kernels of products. Which of them a job takes, and in what blocks, is products.cu's matter.
 */
#pragma once
#include "op/cuda/products_few.cuh"
#include "op/cuda/products_float.cuh"
#include "op/cuda/products_one.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

/* Tiles of a few and of many rows: warps of 16 by 64 products, and of 64 by 32. */
using tile_of_64 = tile_shape<64, 64, 1, 8>;
using tile_of_128 = tile_shape<128, 128, 4, 4>;

/* Bytes of a block's shared memory before its sums. */
static constexpr size_t few_staged = WARPS * sizeof(few_stage);

/* Kernels that leave segments' sums in `sum`: `segments(at, rows)` those of part 0; part 1 is of
 * a float format. */
template <unsigned R, typename SEGMENTS>
static __device__ __forceinline__ void run_sums(const vv_product_job &job, const grid_of_job &grid,
                                                float *sum, SEGMENTS segments) {
    run_block<R>(job, grid, [&](const place &at, const rows_in_hand<R> &rows) {
        if (at.second) {
            float_rows<R>(job, at, rows, sum);
        } else {
            segments(at, rows);
        }
        finish_sums<R>(job, at, rows, sum);
    });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    one(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_sums<1>(job, grid, sum, [&](const place &at, const rows_in_hand<1> &rows) {
        one_row<TYPE>(job, at, rows.x(0), sum);
    });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    decoded(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_sums<1>(job, grid, sum, [&](const place &at, const rows_in_hand<1> &rows) {
        decoded_row<TYPE>(job, at, rows.x(0), sum);
    });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    few(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    few_stage *staged = vv_dynamic_shared<few_stage>();
    float *sum = reinterpret_cast<float *>(vv_dynamic_shared<uint8_t>() + few_staged);
    run_sums<FEW>(job, grid, sum, [&](const place &at, const rows_in_hand<FEW> &rows) {
        few_rows<TYPE>(job, at, rows, staged, sum);
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

/* Starts one of these; the memory of tiles is the kernels' own matter. */
typedef int start(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, size_t shared,
                  void *stream);

struct kernels {
    start *one, *few, *tile_few, *tile_many, *decoded;
};

/* The kernels of a quantised type (products_super.cu, products_grid.cu, products_block.cu); NULL:
 * it isn't one. */
const kernels *super_kernels(int type);
const kernels *block_kernels(int type);
const kernels *grid_kernels(int type);

#define VV_STARTER(name, ...)                                                                      \
    static int name(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,               \
                    size_t shared, void *stream) {                                                 \
        return vv_start_early((__VA_ARGS__), blocks, THREADS, shared, stream, job, grid);          \
    }

template <int TYPE, class SHAPE>
static int start_tile(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, size_t,
                      void *stream) {
    return vv_start_early((tile<TYPE, SHAPE>), blocks, SHAPE::THREADS,
                          sizeof(tile_memory<TYPE, SHAPE>), stream, job, grid);
}

template <int TYPE> struct starters {
    VV_STARTER(start_one, one<TYPE>)
    VV_STARTER(start_few, few<TYPE>)
    VV_STARTER(start_decoded, decoded<TYPE>)
    static constexpr kernels list = {start_one, start_few, start_tile<TYPE, tile_of_64>,
                                     start_tile<TYPE, tile_of_128>, start_decoded};
};

#define VV_KERNELS(TYPE)                                                                           \
    case VV_TYPE_##TYPE:                                                                           \
        return &starters<VV_TYPE_##TYPE>::list;

} // namespace vv_products
