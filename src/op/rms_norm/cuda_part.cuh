/* A group of a row by a block of any number of warps, a half warp a segment. */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/rms_norm/contract.h"
VV_C_END

/* Calls wait() when what needs nothing of x is loaded; part: [vv_parts] shared memory. */
template <typename Wait>
static __device__ inline void vv_norm_part(const struct vv_rms_norm &a, unsigned row,
                                           unsigned group, vv_trouble trouble, float *part,
                                           Wait wait) {
    unsigned width = (unsigned)a.width, step = blockDim.x / VV_LANES * VV_SEGMENT;
    unsigned first = threadIdx.x / VV_LANES * VV_SEGMENT;
    const float *x = a.x + row * a.x_row + group * a.x_group;
    const float *weight = a.weight + group * a.weight_group;
    float *y = a.y + row * a.y_row + group * a.y_group;
    float w[VV_LANE_VALUES], v[VV_LANE_VALUES];
    auto load = [&](unsigned at) { vv_load_lane(v, x, at, width); };
    vv_load_lane(w, weight, first, width);
    wait();
    float sum = vv_squares_block(v, load, width, part);
    if (!isfinite(sum)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inv = 1.0f / sqrtf(sum / (float)width + a.eps);
    VV_UNROLL_BY(1)
    for (unsigned at = first; at < width; at += step) {
        if (step < width) { /* several each, of which those of the last are here */
            vv_load_lane(w, weight, at, width);
            load(at);
        }
        vv_store_lane([&](unsigned i, unsigned m) { y[i] = (v[m] * inv) * w[m]; }, at, width);
    }
}
