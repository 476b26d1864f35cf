/* A warp a segment, or a few that follow each other. */
#include "op/cuda/chain.h"
#include "op/quantize_rows/cuda_segment.cuh"

namespace {

enum { WARPS = 4, MANY = 4 /* segments of a warp */ };

struct segment_of_rows {
    unsigned row, segment;
    VV_DEVICE void next(unsigned segments) {
        bool last = ++segment == segments;
        row += last;
        segment = last ? 0 : segment;
    }
};

/* Segments of all rows, N a warp, whose values are asked for together. */
template <unsigned N>
__global__ void __launch_bounds__(32 * WARPS, 9)
    planes(vv_planes p, unsigned rows, vv_trouble trouble) {
    unsigned width = (unsigned)p.width, segments = (width + VV_COARSE_UNIT - 1) / VV_COARSE_UNIT;
    unsigned unit = (blockIdx.x * WARPS + threadIdx.x / 32) * N, lane = threadIdx.x % 32;
    segment_of_rows first = {unit / segments, unit % segments}, at = first;
    float4 four[N];
    vv_follow();
    VV_UNROLL
    for (unsigned i = 0; i < N; i++, at.next(segments)) {
        unsigned column = at.segment * VV_COARSE_UNIT + 4 * lane; /* widths are multiples of 32 */
        bool here = at.row < rows && column < width;
        const float *x = p.x + (size_t)at.row * width + column;
        four[i] = here ? *reinterpret_cast<const float4 *>(x) : float4{};
    }
    at = first;
    VV_UNROLL
    for (unsigned i = 0; i < N; i++, at.next(segments)) {
        if (at.row >= rows) {
            return;
        }
        quantise_segment(p, at.row, at.segment, four[i], trouble);
        __syncwarp();
        if (lane == 0 && p.coarse_panel) {
            vv_coarse_panel_row(&p, at.row, at.segment,
                                &p.coarse_panel[at.segment * rows + at.row]);
        }
        if (lane == 0 && p.fine_panel) {
            vv_fine_panel_row(&p, at.row, at.segment, &p.fine_panel[at.segment * rows + at.row]);
        }
    }
}

} // namespace

int vv_cuda_quantize_rows(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_quantize_rows *>(args);
    size_t rows = vv_rows(a->rows);
    size_t units = rows * vv_plane_scales(a->planes.width, VV_COARSE_UNIT);
    constexpr size_t warps_enough = 16; /* of a processor */
    bool many = units >= MANY * warps_enough * on->processors;
    return vv_start_early(many ? planes<MANY> : planes<1>,
                          vv_blocks(units, many ? MANY * WARPS : WARPS), 32 * WARPS, 0, on->stream,
                          a->planes, (unsigned)rows, vv_trouble_of(on));
}

namespace {

const vv_variant variants[] = {
    {"quantize_rows/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, vv_cuda_quantize_rows,
     nullptr, nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_PLANES]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_quantize_rows[] = {{"quantize_rows", variants}, {}};
