/* A thread a value. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/round_half/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) round(float *x, size_t n, vv_trouble trouble) {
    vv_follow();
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) {
        return;
    }
    float rounded = vv_from_f16(vv_to_f16(x[i]));
    x[i] = rounded;
    if (!isfinite(rounded)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_round_half *>(args);
    size_t n = vv_rows(a->rows) * a->width;
    return vv_start_early(round, vv_blocks(n, THREADS), THREADS, 0, on->stream, a->x, n,
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"round_half/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_round_half[] = {{"round_half", variants}, {}};
