/* A block a group of a row, whose values stay in registers. */
#include "op/cuda/chain.h"
#include "op/rms_norm/cuda_part.cuh"

namespace {

__global__ void __launch_bounds__(1024) norm(struct vv_rms_norm a, vv_trouble trouble) {
    vv_norm_part(a, blockIdx.x / (unsigned)a.groups, blockIdx.x % (unsigned)a.groups, trouble,
                 vv_dynamic_shared<float>(), vv_follow);
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_rms_norm *>(args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.groups);
    return vv_start_early(norm, blocks, vv_segment_threads(a.width),
                          vv_parts(a.width) * sizeof(float), on->stream, a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"rms_norm/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_NORM]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rms_norm[] = {{"rms_norm", variants}, {}};
