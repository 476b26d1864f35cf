/* Kernels of the super-block formats whose codes are rows of a grid. */
#include "op/cuda/products.cuh"

const vv_products::kernels *vv_products::grid_kernels(int type) {
    switch (type) {
        VV_KERNELS(IQ2_XXS)
        VV_KERNELS(IQ2_XS)
        VV_KERNELS(IQ2_S)
        VV_KERNELS(IQ3_XXS)
        VV_KERNELS(IQ3_S)
        VV_KERNELS(IQ1_S)
        VV_KERNELS(IQ1_M)
    default:
        return nullptr;
    }
}
