/* Up to eight rows of activations. */
#include "op/cuda/products.cuh"

int vv_products::start_eight(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                             unsigned threads, size_t shared, void *stream) {
    return start_rows<EIGHT>(job, grid, blocks, threads, shared, stream);
}
