/* One row of activations. */
#include "op/cuda/products.cuh"

int vv_products::start_one(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                           unsigned threads, size_t shared, void *stream) {
    if (grid.turns > 1) {
        return vv_start_early(stream_kernel<1>, blocks, threads, shared, stream, job, grid);
    }
    return vv_start_together(grid.together, rows_kernel<1>, blocks, threads, shared, stream, job,
                             grid);
}
