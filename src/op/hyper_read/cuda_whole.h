/*
 * hyper_down, planes of a, hyper_up and perhaps planes of u in one launch, for windows of few rows.
 */
#pragma once
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/hyper_read/contract.h"
VV_C_END

enum { VV_HYPER_WHOLE_ROWS = 3 }; /* at most: four are as fast in a launch each */

enum vv_hyper_step {
    VV_HYPER_DOWN,
    VV_HYPER_A, /* planes of a */
    VV_HYPER_UP,
    VV_HYPER_U, /* planes of u */
    VV_HYPER_STEPS
};

struct vv_hyper_whole {
    const struct vv_hyper_down *down;
    const struct vv_hyper_up *up;
    const struct vv_planes *a, *u; /* u: NULL: its planes are not wanted */
    uint32_t step[VV_HYPER_STEPS];
};

/* VV_ERROR_UNSUPPORTED: not of these shapes and formats, or not on this device. */
int vv_cuda_hyper_whole(const struct vv_hyper_whole *of, const struct vv_launch *on);
