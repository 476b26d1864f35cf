/* Up to four rows of activations at once. */
#include "op/cuda/products.cuh"

namespace vv_products {

#define VV_DOT(TYPE)                                                                               \
    case VV_TYPE_##TYPE:                                                                           \
        some_rows<VV_TYPE_##TYPE>(job, at, rows, held, sum);                                       \
        break;

__global__ void __launch_bounds__(THREADS)
    four(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    uint8_t *held = vv_dynamic_shared<uint8_t>();
    float *sum = reinterpret_cast<float *>(held + grid.held);
    run_block<FOUR>(job, grid, held,
                    [&](const place &at, const rows_in_hand<FOUR> &rows) { VV_SUMS(VV_DOT); });
}

VV_STARTER(start_four, four)

} // namespace vv_products
