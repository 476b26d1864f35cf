/* Kernels of the super-block formats. */
#include "op/cuda/products.cuh"

const vv_products::kernels *vv_products::super_kernels(int type) {
    switch (type) {
        VV_KERNELS(Q2_K)
        VV_KERNELS(Q3_K)
        VV_KERNELS(Q4_K)
        VV_KERNELS(Q5_K)
        VV_KERNELS(Q6_K)
        VV_KERNELS(IQ4_XS)
        VV_KERNELS(Q1_0)
        VV_KERNELS(TQ1_0)
        VV_KERNELS(TQ2_0)
    default:
        return nullptr;
    }
}
