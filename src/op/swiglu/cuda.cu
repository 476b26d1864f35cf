/* A thread a value. */
#include "op/cuda/chain.h"
VV_C_BEGIN
#include "op/swiglu/contract.h"
VV_C_END

namespace {

enum { THREADS = 64 };

__global__ void __launch_bounds__(THREADS) gated(struct vv_swiglu a, size_t n) {
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    vv_follow();
    if (i < n) {
        a.h[i] = vv_gated(a.gate[i], a.up[i], vv_limit(a.limit));
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_swiglu *>(args);
    size_t n = vv_rows(a->rows) * a->width;
    return vv_start_early(gated, vv_blocks(n, THREADS), THREADS, 0, on->stream, *a, n);
}

const vv_variant variants[] = {
    {"swiglu/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr, nullptr,
     &vv_cuda_chaining[VV_CHAIN_SWIGLU]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_swiglu[] = {{"swiglu", variants}, {}};
