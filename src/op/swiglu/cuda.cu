/* A thread four values where there are many. */
#include "op/cuda/chain.h"
VV_C_BEGIN
#include "op/swiglu/contract.h"
VV_C_END

namespace {

enum { THREADS = 64 };

/* n times N values. */
template <unsigned N>
__global__ void __launch_bounds__(THREADS) gated(struct vv_swiglu a, size_t n) {
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, at = i * N;
    vv_follow();
    if (i >= n) {
        return;
    }
    vv_values<N> gate = vv_load_values<N>(a.gate + at), up = vv_load_values<N>(a.up + at), h;
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        h.v[k] = vv_gated(gate.v[k], up.v[k], vv_limit(a.limit));
    }
    vv_store_values(a.h + at, h);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_swiglu *>(args);
    size_t n = vv_rows(a->rows) * a->width;
    bool fours = vv_by_fours(1, n, THREADS, on);
    n = fours ? n / 4 : n;
    return vv_start_early(fours ? gated<4> : gated<1>, vv_blocks(n, THREADS), THREADS, 0,
                          on->stream, *a, n);
}

const vv_variant variants[] = {
    {"swiglu/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr, nullptr,
     &vv_cuda_chaining[VV_CHAIN_SWIGLU]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_swiglu[] = {{"swiglu", variants}, {}};
