/*
 * The kernels of products. Which of them a job takes, and in what blocks, is products.cu's matter.
 */
#pragma once
#include "op/cuda/products_few.cuh"
#include "op/cuda/products_float.cuh"
#include "op/cuda/products_one.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

constexpr unsigned TILE_FEW = 32, TILE_MANY = 64;

/* Bytes of a block's shared memory before its sums. */
static constexpr size_t few_staged = WARPS * sizeof(few_stage);

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    one(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    vv_follow();
    place at;
    if (!find_place(job, grid, at)) {
        return;
    }
    float *sum = vv_dynamic_shared<float>();
    run_rows<1>(job, at, [&](const rows_in_hand<1> &rows) {
        if (at.second) {
            float_rows<1>(job, at, rows, sum);
        } else {
            one_row<TYPE>(job, at, rows.x(0), sum);
        }
        finish_sums<1>(job, at, rows, sum);
    });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    few(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    vv_follow();
    place at;
    if (!find_place(job, grid, at)) {
        return;
    }
    few_stage *staged = vv_dynamic_shared<few_stage>();
    float *sum = reinterpret_cast<float *>(vv_dynamic_shared<uint8_t>() + few_staged);
    run_rows<FEW>(job, at, [&](const rows_in_hand<FEW> &rows) {
        if (at.second) {
            float_rows<FEW>(job, at, rows, sum);
        } else {
            few_rows<TYPE>(job, at, rows, staged, sum);
        }
        finish_sums<FEW>(job, at, rows, sum);
    });
}

template <int TYPE, unsigned TN>
__global__ void __launch_bounds__(THREADS, 2)
    tile(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    vv_follow();
    place at;
    if (!find_place(job, grid, at)) {
        return;
    }
    auto &memory = *vv_dynamic_shared<tile_memory<TN>>();
    run_rows<TN>(job, at,
                 [&](const rows_in_hand<TN> &rows) { tile_rows<TYPE, TN>(job, at, rows, memory); });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    decoded(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    vv_follow();
    place at;
    if (!find_place(job, grid, at)) {
        return;
    }
    float *sum = vv_dynamic_shared<float>();
    run_rows<1>(job, at, [&](const rows_in_hand<1> &rows) {
        if (at.second) {
            float_rows<1>(job, at, rows, sum);
        } else {
            decoded_row<TYPE>(job, at, rows.x(0), sum);
        }
        finish_sums<1>(job, at, rows, sum);
    });
}

/* Starts one of these. */
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

template <int TYPE> struct starters {
    VV_STARTER(start_one, one<TYPE>)
    VV_STARTER(start_few, few<TYPE>)
    VV_STARTER(start_tile_few, tile<TYPE, TILE_FEW>)
    VV_STARTER(start_tile_many, tile<TYPE, TILE_MANY>)
    VV_STARTER(start_decoded, decoded<TYPE>)
    static constexpr kernels list = {start_one, start_few, start_tile_few, start_tile_many,
                                     start_decoded};
};

#define VV_KERNELS(TYPE)                                                                           \
    case VV_TYPE_##TYPE:                                                                           \
        return &starters<VV_TYPE_##TYPE>::list;

} // namespace vv_products
