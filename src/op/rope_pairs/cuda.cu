/* A thread a pair of values. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/rope_pairs/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS) rotate(struct vv_rope_pairs a, const int32_t *position) {
    vv_follow();
    unsigned row = blockIdx.x, at = blockIdx.y * THREADS + threadIdx.x;
    unsigned half = (unsigned)(a.dims / 2), head = at / half, i = at % half;
    if (head >= a.heads) {
        return;
    }
    float *x = a.x + row * a.row_stride + head * a.head_stride + 2 * i;
    float even = x[0], odd = x[1], s, c;
    vv_sincos_turn((uint64_t)position[row] * a.turn[i], &s, &c);
    s = a.back ? -s : s;
    x[0] = fmaf(even, c, -(odd * s));
    x[1] = fmaf(odd, c, even * s);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_rope_pairs *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->heads * (a->dims / 2), THREADS));
    return vv_start_early(rotate, grid, THREADS, 0, on->stream, *a,
                          vv_on_device_as(on, static_cast<const int32_t *>(a->window->position)));
}

const vv_variant variants[] = {
    {"rope_pairs/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rope_pairs[] = {{"rope_pairs", variants}, {}};
