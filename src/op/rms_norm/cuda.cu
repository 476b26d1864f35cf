/* A block a group of a row. */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/rms_norm/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) norm(struct vv_rms_norm a, vv_trouble trouble) {
    vv_follow();
    float *part = vv_dynamic_shared<float>();
    size_t row = blockIdx.x / a.groups, group = blockIdx.x % a.groups;
    const float *x = a.x + row * a.x_row + group * a.x_group;
    const float *weight = a.weight + group * a.weight_group;
    float *y = a.y + row * a.y_row + group * a.y_group;
    auto value = [&](size_t i) { return x[i]; };
    float sum = vv_dot_block(value, value, a.width, part);
    if (!isfinite(sum)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inv = 1.0f / sqrtf(sum / (float)a.width + a.eps);
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        y[i] = (x[i] * inv) * weight[i];
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_rms_norm *>(args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.groups);
    return vv_start_early(norm, blocks, THREADS, vv_segments(a.width) * sizeof(float), on->stream,
                          a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"rms_norm/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rms_norm[] = {{"rms_norm", variants}, {}};
