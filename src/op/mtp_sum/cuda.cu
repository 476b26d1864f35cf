/* A thread a value of a stream. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/mtp_sum/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) add(struct vv_mtp_sum a) {
    vv_follow();
    size_t stream = blockIdx.x, i = (size_t)blockIdx.y * THREADS + threadIdx.x;
    if (i < a.width) {
        a.x[stream * a.width + i] += a.e[stream / a.streams * a.width + i];
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_mtp_sum *>(args);
    dim3 grid((unsigned)(vv_rows(a->rows) * a->streams), vv_blocks(a->width, THREADS));
    return vv_start_early(add, grid, THREADS, 0, on->stream, *a);
}

const vv_variant variants[] = {
    {"mtp_sum/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_mtp_sum[] = {{"mtp_sum", variants}, {}};
