/* A thread a pair of values, or the same one of a few heads. */
#include "op/cuda/chain.h"
#include "op/rope_pairs/cuda_part.cuh"

namespace {

enum { THREADS = 128, MANY = 4 /* heads of a thread */ };

template <unsigned N>
__global__ void __launch_bounds__(THREADS) rotate(struct vv_rope_pairs a, const int32_t *position) {
    vv_follow();
    unsigned row = blockIdx.x, at = blockIdx.y * THREADS + threadIdx.x;
    unsigned half = (unsigned)(a.dims / 2), head = at / half * N, i = at % half;
    if (head < a.heads) {
        vv_rotate_pairs<N>(a, position[row], row, head, i);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_rope_pairs *>(args);
    size_t pairs = a->dims / 2, rows = vv_rows(a->rows);
    bool many = rows * a->heads * pairs >= MANY * THREADS * on->processors; /* a block each */
    dim3 grid((unsigned)rows, vv_blocks(vv_blocks(a->heads, many ? MANY : 1) * pairs, THREADS));
    return vv_start_early(many ? rotate<MANY> : rotate<1>, grid, THREADS, 0, on->stream, *a,
                          vv_on_device_as(on, static_cast<const int32_t *>(a->window->position)));
}

const vv_variant variants[] = {
    {"rope_pairs/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_ROPE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rope_pairs[] = {{"rope_pairs", variants}, {}};
