/* A thread a value. */
#include "op/cuda/chain.h"
#include "op/round_half/cuda_part.cuh"

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) round(float *x, size_t n, vv_trouble trouble) {
    vv_follow();
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        vv_round_one(x + i, trouble);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_round_half *>(args);
    size_t n = vv_rows(a->rows) * a->width;
    return vv_start_early(round, vv_blocks(n, THREADS), THREADS, 0, on->stream, a->x, n,
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"round_half/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_HALF]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_round_half[] = {{"round_half", variants}, {}};
