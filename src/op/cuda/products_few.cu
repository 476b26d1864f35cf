/* Up to eight rows of activations at once, by matrix units. */
#include "op/cuda/products.cuh"

namespace vv_products {

#define VV_DOT(TYPE)                                                                               \
    case VV_TYPE_##TYPE:                                                                           \
        few_rows<VV_TYPE_##TYPE>(job, at, rows, held, staged, sum);                                \
        break;

__global__ void __launch_bounds__(THREADS)
    few(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    uint8_t *held = vv_dynamic_shared<uint8_t>();
    few_stage *staged = reinterpret_cast<few_stage *>(held + grid.held);
    float *sum = reinterpret_cast<float *>(held + grid.held + few_staged);
    run_block<FEW>(job, grid, held,
                   [&](const place &at, const rows_in_hand<FEW> &rows) { VV_SUMS(VV_DOT); });
}

VV_STARTER(start_few, few)

} // namespace vv_products
