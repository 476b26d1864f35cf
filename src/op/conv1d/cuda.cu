/* A thread a channel of a row; where a row's taps lie is found once a block. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/conv1d/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS) convolve(struct vv_conv1d a) {
    auto tap = vv_dynamic_shared<const float *>(); /* [kernel]; null: before the start */
    size_t row = blockIdx.x, c = (size_t)blockIdx.y * THREADS + threadIdx.x;
    for (size_t m = threadIdx.x; m < a.kernel; m += THREADS) {
        tap[m] = vv_conv1d_input(&a, row, a.dilation * (a.kernel - 1 - m));
    }
    __syncthreads();
    vv_follow();
    if (c >= a.channels) {
        return;
    }
    size_t at = row * a.channels + c;
    float acc = 0.0f, p = a.p[at], onto = a.onto[at];
    VV_UNROLL_BY(4)
    for (size_t m = 0; m < a.kernel; m++) {
        acc = fmaf(a.weight[c * a.kernel + m], tap[m] ? tap[m][c] : 0.0f, acc);
    }
    a.onto[at] = onto + (p + vv_silu(acc));
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_conv1d *>(args);
    dim3 grid((unsigned)vv_rows(a.rows), vv_blocks(a.channels, THREADS));
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(convolve, grid, THREADS, a.kernel * sizeof(const float *), on->stream, a);
}

const vv_variant variants[] = {
    {"conv1d/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_conv1d[] = {{"conv1d", variants}, {}};
