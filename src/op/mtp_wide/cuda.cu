/* A thread a value. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/mtp_wide/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) copy(struct vv_mtp_wide a) {
    vv_follow();
    size_t row = blockIdx.x, i = (size_t)blockIdx.y * THREADS + threadIdx.x;
    if (i >= a.width) {
        return;
    }
    const vv_window *w = a.window;
    const float *from =
        w->source[row] >= 0
            ? a.wide + (size_t)w->source[row] * a.width
            : static_cast<const float *>(vv_state_at(&a.ring, w->slot[row], w->position[row]));
    a.h[row * a.width + i] = from[i];
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_mtp_wide *>(args);
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(copy, dim3((unsigned)vv_rows(a.rows), vv_blocks(a.width, THREADS)),
                          THREADS, 0, on->stream, a);
}

const vv_variant variants[] = {
    {"mtp_wide/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_mtp_wide[] = {{"mtp_wide", variants}, {}};
