/* A thread a pair of values. */
#include "op/cuda/chain.h"
#include "op/rope_pairs/cuda_part.cuh"

namespace {

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS) rotate(struct vv_rope_pairs a, const int32_t *position) {
    vv_follow();
    unsigned row = blockIdx.x, at = blockIdx.y * THREADS + threadIdx.x;
    unsigned half = (unsigned)(a.dims / 2), head = at / half, i = at % half;
    if (head >= a.heads) {
        return;
    }
    vv_rotate_pair(a, position[row], row, head, i);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_rope_pairs *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->heads * (a->dims / 2), THREADS));
    return vv_start_early(rotate, grid, THREADS, 0, on->stream, *a,
                          vv_on_device_as(on, static_cast<const int32_t *>(a->window->position)));
}

const vv_variant variants[] = {
    {"rope_pairs/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_ROPE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rope_pairs[] = {{"rope_pairs", variants}, {}};
