/* Kernels of the block formats. */
#include "op/cuda/products.cuh"

const vv_products::kernels *vv_products::block_kernels(int type) {
    switch (type) {
        VV_KERNELS(Q4_0)
        VV_KERNELS(Q4_1)
        VV_KERNELS(Q5_0)
        VV_KERNELS(Q5_1)
        VV_KERNELS(Q8_0)
        VV_KERNELS(IQ4_NL)
        VV_KERNELS(MXFP4)
        VV_KERNELS(NVFP4)
        VV_KERNELS(Q2_0)
        VV_KERNELS(Q2_0_128)
    default:
        return nullptr;
    }
}
