/* A thread a value. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/mtp_join/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) join(struct vv_mtp_join a) {
    vv_follow();
    size_t stream = blockIdx.x, i = (size_t)blockIdx.y * THREADS + threadIdx.x;
    if (i < 2 * a.width) {
        a.y[stream * 2 * a.width + i] = i < a.width ? a.e[stream / a.streams * a.width + i]
                                                    : a.h[stream * a.width + i - a.width];
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_mtp_join *>(args);
    dim3 grid((unsigned)(vv_rows(a->rows) * a->streams), vv_blocks(2 * a->width, THREADS));
    return vv_start_early(join, grid, THREADS, 0, on->stream, *a);
}

const vv_variant variants[] = {
    {"mtp_join/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_mtp_join[] = {{"mtp_join", variants}, {}};
