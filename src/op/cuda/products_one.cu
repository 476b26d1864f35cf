/* One row of activations after another. */
#include "op/cuda/products.cuh"

namespace vv_products {

#define VV_DOT(TYPE)                                                                               \
    case VV_TYPE_##TYPE:                                                                           \
        some_rows<VV_TYPE_##TYPE>(job, at, rows, held, sum);                                       \
        break;

__global__ void __launch_bounds__(THREADS)
    one(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    uint8_t *held = vv_dynamic_shared<uint8_t>();
    float *sum = reinterpret_cast<float *>(held + grid.held);
    run_block<1>(job, grid, held,
                 [&](const place &at, const rows_in_hand<1> &rows) { VV_SUMS(VV_DOT); });
}

VV_STARTER(start_one, one)

} // namespace vv_products
