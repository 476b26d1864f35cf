/* A block a group of a row, a half warp a segment, whose values stay in registers. */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/rms_norm/contract.h"
VV_C_END

namespace {

__global__ void __launch_bounds__(1024) norm(struct vv_rms_norm a, vv_trouble trouble) {
    unsigned row = blockIdx.x / (unsigned)a.groups, group = blockIdx.x % (unsigned)a.groups;
    unsigned width = (unsigned)a.width, step = blockDim.x / VV_LANES * VV_SEGMENT;
    unsigned first = threadIdx.x / VV_LANES * VV_SEGMENT;
    const float *x = a.x + row * a.x_row + group * a.x_group;
    const float *weight = a.weight + group * a.weight_group;
    float *y = a.y + row * a.y_row + group * a.y_group;
    float w[VV_LANE_VALUES], v[VV_LANE_VALUES];
    auto load = [&](unsigned at) { vv_load_lane(v, x, at, width); };
    vv_load_lane(w, weight, first, width);
    vv_follow();
    float sum = vv_squares_block(v, load, width, vv_dynamic_shared<float>());
    if (!isfinite(sum)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inv = 1.0f / sqrtf(sum / (float)width + a.eps);
    for (unsigned at = first; at < width; at += step) {
        if (step < width) { /* several each, of which those of the last are here */
            vv_load_lane(w, weight, at, width);
            load(at);
        }
        vv_store_lane([&](unsigned i, unsigned m) { y[i] = (v[m] * inv) * w[m]; }, at, width);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_rms_norm *>(args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.groups);
    return vv_start_early(norm, blocks, vv_segment_threads(a.width),
                          vv_parts(a.width) * sizeof(float), on->stream, a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"rms_norm/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rms_norm[] = {{"rms_norm", variants}, {}};
