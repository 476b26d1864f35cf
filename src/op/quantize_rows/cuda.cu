/* A warp a segment. */
#include "op/cuda/chain.h"
#include "op/quantize_rows/cuda_segment.cuh"

namespace {

enum { WARPS = 4 };

__global__ void __launch_bounds__(32 * WARPS)
    planes(vv_planes p, unsigned rows, vv_trouble trouble) {
    unsigned width = (unsigned)p.width, segments = (width + VV_COARSE_UNIT - 1) / VV_COARSE_UNIT;
    unsigned unit = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned row = unit / segments, segment = unit % segments;
    unsigned first = segment * VV_COARSE_UNIT + 4 * lane;
    size_t at = (size_t)row * width + first;
    bool here = first < width; /* the width is a multiple of 32 */
    vv_follow();
    if (row >= rows) {
        return;
    }
    float4 four = here ? *reinterpret_cast<const float4 *>(p.x + at) : float4{};
    quantise_segment(p, row, segment, four, trouble);
    __syncwarp();
    if (lane == 0 && p.coarse_panel) {
        vv_coarse_panel_row(&p, row, segment, &p.coarse_panel[segment * rows + row]);
    }
    if (lane == 0 && p.fine_panel) {
        vv_fine_panel_row(&p, row, segment, &p.fine_panel[segment * rows + row]);
    }
}

} // namespace

int vv_cuda_quantize_rows(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_quantize_rows *>(args);
    size_t rows = vv_rows(a->rows);
    size_t units = rows * vv_plane_scales(a->planes.width, VV_COARSE_UNIT);
    return vv_start_early(planes, vv_blocks(units, WARPS), 32 * WARPS, 0, on->stream, a->planes,
                          (unsigned)rows, vv_trouble_of(on));
}

namespace {

const vv_variant variants[] = {
    {"quantize_rows/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, vv_cuda_quantize_rows,
     nullptr, nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_PLANES]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_quantize_rows[] = {{"quantize_rows", variants}, {}};
