/* A thread a value; with the result's planes a warp a segment, four values a thread. */
#include "op/quantize_rows/cuda_segment.cuh"
VV_C_BEGIN
#include "op/swiglu/contract.h"
VV_C_END

namespace {

enum { THREADS = 64, SEGMENT_WARPS = 4 };

__global__ void __launch_bounds__(THREADS) gated(struct vv_swiglu a, size_t n) {
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    vv_follow();
    if (i < n) {
        a.h[i] = vv_gated(a.gate[i], a.up[i], vv_limit(a.limit));
    }
}

__global__ void __launch_bounds__(32 * SEGMENT_WARPS)
    gated_planes(struct vv_swiglu a, vv_planes to, unsigned rows, vv_trouble trouble) {
    unsigned width = (unsigned)a.width, segments = (unsigned)vv_plane_scales(width, VV_COARSE_UNIT);
    unsigned unit = blockIdx.x * SEGMENT_WARPS + threadIdx.x / 32;
    unsigned row = unit / segments, segment = unit % segments;
    unsigned first = segment * VV_COARSE_UNIT + threadIdx.x % 32 * 4;
    size_t at = (size_t)row * width + first;
    float limit = vv_limit(a.limit);
    vv_follow();
    if (row >= rows) {
        return;
    }
    float4 h = {};
    if (first < width) { /* a multiple of 32 */
        float4 g = *reinterpret_cast<const float4 *>(a.gate + at);
        float4 u = *reinterpret_cast<const float4 *>(a.up + at);
        h = make_float4(vv_gated(g.x, u.x, limit), vv_gated(g.y, u.y, limit),
                        vv_gated(g.z, u.z, limit), vv_gated(g.w, u.w, limit));
        *reinterpret_cast<float4 *>(a.h + at) = h;
    }
    quantise_segment(to, row, segment, h, trouble);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_swiglu *>(args);
    size_t n = vv_rows(a->rows) * a->width;
    return vv_start_early(gated, vv_blocks(n, THREADS), THREADS, 0, on->stream, *a, n);
}

bool aligned(const void *at) {
    return (uintptr_t)at % sizeof(float4) == 0;
}

int launch_planes(const vv_launched_step *steps, const vv_variant *next, const vv_launch *on) {
    auto a = static_cast<const struct vv_swiglu *>(steps[0].args);
    size_t rows = vv_rows(a->rows);
    const vv_planes *to = vv_planes_of(steps[1].args, next, a->h, a->width, rows);
    if (!to || !aligned(a->gate) || !aligned(a->up) || !aligned(a->h)) {
        return VV_ERROR_UNSUPPORTED;
    }
    size_t units = rows * vv_plane_scales(a->width, VV_COARSE_UNIT);
    vv_trouble trouble = {on->status, steps[1].step};
    return vv_start_early(gated_planes, vv_blocks(units, SEGMENT_WARPS), 32 * SEGMENT_WARPS, 0,
                          on->stream, *a, *to, (unsigned)rows, trouble);
}

const vv_variant variants[] = {
    {"swiglu/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     launch_planes},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_swiglu[] = {{"swiglu", variants}, {}};
