/* round_fp8: a warp a block of values. round_fp4: a warp a few vectors of a row. */
#include "op/cache_round/cuda_part.cuh"
#include "op/cuda/chain.h"

namespace {

enum { WARPS = 4, THREADS = 32 * WARPS, VECTORS = 4 /* of a warp */ };

__global__ void __launch_bounds__(THREADS) round_fp8(struct vv_round_fp8 a, vv_trouble trouble) {
    vv_follow();
    size_t row = blockIdx.x, block = (size_t)blockIdx.y * WARPS + threadIdx.x / 32;
    if (block * VV_FP8_BLOCK < a.width && vv_completes(a.window, row, a.ratio)) {
        round_fp8_block(a, row, block, trouble);
    }
}

int launch_fp8(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_round_fp8 *>(args);
    dim3 grid((unsigned)vv_rows(a.rows), vv_blocks(a.width, (size_t)VV_FP8_BLOCK * WARPS));
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(round_fp8, grid, THREADS, 0, on->stream, a, vv_trouble_of(on));
}

__global__ void __launch_bounds__(THREADS)
    round_fp4(struct vv_round_fp4 a, float unit, vv_trouble trouble) {
    __shared__ float x[WARPS][VV_FP4_WIDTH_MAX];
    vv_follow();
    if (!vv_completes(a.window, blockIdx.x, a.ratio)) {
        return;
    }
    VV_UNROLL_BY(1)
    for (unsigned i = 0; i < VECTORS; i++) {
        unsigned warp = threadIdx.x / 32, head = (blockIdx.y * VECTORS + i) * WARPS + warp;
        if (head < a.heads) {
            round_fp4_vector(a, blockIdx.x, head, unit, x[warp], trouble);
        }
    }
}

int launch_fp4(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_round_fp4 *>(args);
    a.window = vv_on_device_as(on, a.window);
    dim3 grid((unsigned)vv_rows(a.rows), vv_blocks(a.heads, WARPS * VECTORS));
    return vv_start_early(round_fp4, grid, THREADS, 0, on->stream, a, hadamard_unit(a.width),
                          vv_trouble_of(on));
}

const vv_variant fp8_variants[] = {
    {"round_fp8/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_fp8, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_FP8]},
    {},
};

const vv_variant fp4_variants[] = {
    {"round_fp4/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_fp4, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_FP4]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_cache_round[] = {
    {"round_fp8", fp8_variants}, {"round_fp4", fp4_variants}, {}};
