/* A value by a thread. */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/round_half/contract.h"
VV_C_END

static __device__ inline void vv_round_one(float *x, vv_trouble trouble) {
    float rounded = vv_from_f16(vv_to_f16(*x));
    *x = rounded;
    if (!isfinite(rounded)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}
