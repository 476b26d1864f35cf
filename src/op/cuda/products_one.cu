/* One row of activations. */
#include "op/cuda/products.cuh"

int vv_products::start_one(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                           unsigned threads, size_t shared, void *stream) {
    return start_rows<1>(job, grid, blocks, threads, shared, stream);
}
