/* A thread a pair of values. Angles are the window's and known before the values are. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/rope/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS) rotate(struct vv_rope a, const int32_t *position) {
    unsigned row = blockIdx.x, at = blockIdx.y * THREADS + threadIdx.x;
    unsigned half = (unsigned)(a.dims / 2), head = at / half, i = at % half;
    float *x = a.x + row * a.row_stride + head * a.head_stride + i, *y = x + half, s, c;
    vv_sincos_turn((uint64_t)position[row] * a.turn[i], &s, &c);
    vv_follow();
    if (head >= a.heads) {
        return;
    }
    float xi = *x, xj = *y;
    *x = fmaf(xi, c, -(xj * s));
    *y = fmaf(xj, c, xi * s);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_rope *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->heads * (a->dims / 2), THREADS));
    return vv_start_early(rotate, grid, THREADS, 0, on->stream, *a,
                          vv_on_device_as(on, static_cast<const int32_t *>(a->window->position)));
}

const vv_variant variants[] = {
    {"rope/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_rope[] = {{"rope", variants}, {}};
