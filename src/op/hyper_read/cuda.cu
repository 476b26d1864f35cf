/*
 * hyper_norm: a block a stream of a row. hyper_down: both weights in one launch, where inject is of
 * a float format. hyper_up: the rows of one value's streams are neighbouring slots of a block,
 * whose end takes them together.
 */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/hyper_read/contract.h"
#include "quant/split.h"
VV_C_END
#include "op/cuda/products.h"
#include "op/hyper_read/cuda_whole.h"
#include "op/quantize_rows/cuda_segment.cuh"

namespace {

/* Planes of what it gives, where they are wanted with it. */
struct norm_planes {
    vv_planes planes;
    vv_trouble trouble;
};

/* A half warp a segment, whose values stay in registers between the write and the norm. PLANES: the
 * width is a multiple of 128. */
template <bool PLANES>
__global__ void __launch_bounds__(1024)
    norm(struct vv_hyper_norm a, norm_planes to, vv_trouble trouble) {
    float *part = vv_dynamic_shared<float>(), *kept = part + vv_parts(a.width); /* [width] */
    unsigned stream = blockIdx.x, row = stream / (unsigned)a.streams;
    unsigned width = (unsigned)a.width, step = blockDim.x / VV_LANES * VV_SEGMENT;
    unsigned start = stream % (unsigned)a.streams * width;   /* of the stream in its row */
    unsigned mine = threadIdx.x / VV_LANES % 2 * VV_SEGMENT; /* of the warp's two segments */
    unsigned first = threadIdx.x / 32 * 2 * VV_SEGMENT;
    float *x = a.x + (size_t)stream * width, *h = a.h + (size_t)stream * width;
    const float *weight = a.weight + start;
    const float *o = a.o + (size_t)row * width;
    float w[VV_LANE_VALUES], v[VV_LANE_VALUES];
    vv_load_lane(w, weight, first + mine, width);
    vv_follow();
    auto load_written = [&](unsigned at) {
        vv_load_lane(v, x, at, width);
        if (a.o) {
            float more[VV_LANE_VALUES], gamma = a.gamma[stream];
            vv_load_lane(more, o, at, width);
            vv_store_lane([&](unsigned i, unsigned m) { x[i] = v[m] = fmaf(gamma, more[m], v[m]); },
                          at, width);
        }
    };
    float sum = vv_squares_block(v, load_written, width, part);
    if (!isfinite(sum)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inv = 1.0f / sqrtf(sum / (float)width + a.eps);
    for (unsigned at = first; at < width; at += step) { /* whole warps */
        if (step < width) { /* several each, of which those of the last are here */
            vv_load_lane(w, weight, at + mine, width);
            vv_load_lane(v, x, at + mine, width);
        }
        auto finish = [&](unsigned i, unsigned m) {
            float value = (v[m] * inv) * w[m];
            h[i] = value;
            if (PLANES) {
                kept[i] = value;
            }
        };
        vv_store_lane(finish, at + mine, width);
        __syncwarp();
        for (unsigned s = at; PLANES && s < at + 2 * VV_SEGMENT && s < width; s += VV_SEGMENT) {
            float4 four = reinterpret_cast<const float4 *>(kept + s)[threadIdx.x % 32];
            quantise_segment(to.planes, row, (start + s) / VV_SEGMENT, four, to.trouble);
        }
    }
}

int launch_norm(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_hyper_norm *>(args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.streams);
    return vv_start_early(norm<false>, blocks, vv_segment_threads(a.width),
                          vv_parts(a.width) * sizeof(float), on->stream, a, norm_planes{},
                          vv_trouble_of(on));
}

/* Wider rows would need more shared memory than any device has. */
constexpr size_t planes_most = 8192;

/* The planes, too, which come from what the threads hold. */
const vv_planes *planes_behind(const vv_whole *whole) {
    auto a = static_cast<const struct vv_hyper_norm *>(whole->step[0].args);
    const vv_planes *planes = vv_planes_of(whole, 1, a->h, a->streams * a->width, vv_rows(a->rows));
    return a->width % VV_SEGMENT > 0 || a->width > planes_most ? nullptr : planes;
}

int launch_norm_planes(const vv_whole *whole, const vv_launch *on) {
    auto a = *static_cast<const struct vv_hyper_norm *>(whole->step[0].args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.streams);
    norm_planes to = {*planes_behind(whole), {on->status, whole->step[1].step}};
    return vv_start_early(norm<true>, blocks, vv_segment_threads(a.width),
                          (vv_parts(a.width) + a.width) * sizeof(float), on->stream, a, to,
                          vv_trouble_of(on));
}

bool fits_norm(const vv_whole *whole) {
    return whole->count == 2 && planes_behind(whole);
}
const vv_whole_way norm_way = {fits_norm, launch_norm_planes};

/* ---- down ---- */

void add(vv_product_job *job, const vv_weight *weight, vv_product_end end, float *to,
         uint32_t step) {
    vv_product_part *part = &job->part[job->parts++];
    vv_cuda_part(part, weight, step);
    part->end = end;
    part->to = to;
    part->to_row = weight->rows;
}

template <vv_product_way WAY> int launch_down(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_hyper_down *>(args);
    vv_product_job job = {};
    job.way = WAY;
    job.x = a->h;
    job.rows = (unsigned)vv_rows(a->rows);
    job.streams = (unsigned)a->streams;
    add(&job, a->down, VV_END_SILU, a->a, on->step);
    if (a->inject) {
        add(&job, a->inject, VV_END_GAMMA, a->gamma, on->step);
    }
    return vv_cuda_products(&job, on);
}

/* ---- up ---- */

bool fits_up(const void *args) {
    return static_cast<const struct vv_hyper_up *>(args)->streams <= VV_MATRICES_MAX;
}

/* Ways other than the rule's are for many rows of activations. */
bool many_down(const void *args) {
    auto a = static_cast<const struct vv_hyper_down *>(args);
    return vv_rows(a->rows) > 8 && !a->h.float_only;
}
bool many_up(const void *args) {
    auto a = static_cast<const struct vv_hyper_up *>(args);
    return fits_up(args) && vv_rows(a->rows) > 8 && !a->a.float_only;
}

template <vv_product_way WAY> int launch_up(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_hyper_up *>(args);
    vv_product_job job = {};
    job.way = WAY;
    job.x = a->a;
    job.rows = (unsigned)vv_rows(a->rows);
    job.streams = (unsigned)a->streams;
    job.with = a->h;
    add(&job, a->up, VV_END_GATED_MEAN, a->u, on->step);
    job.part[0].outputs = (unsigned)a->width;
    job.part[0].matrices = (unsigned)a->streams;
    job.part[0].matrix_rows = (unsigned)a->width;
    job.part[0].to_row = a->width;
    return vv_cuda_products(&job, on);
}

/* ---- down, up and their planes ---- */

template <typename ARGS> const ARGS *step_of(const vv_whole *whole, size_t step) {
    return static_cast<const ARGS *>(whole->step[step].args);
}

/* In the order of vv_hyper_step. */
bool fits_whole(const vv_whole *whole) {
    auto down = step_of<struct vv_hyper_down>(whole, VV_HYPER_DOWN);
    auto up = step_of<struct vv_hyper_up>(whole, VV_HYPER_UP);
    size_t last = whole->count - 1, rows = vv_rows(down->rows);
    switch (last) {
    case VV_HYPER_A:
        return rows <= VV_HYPER_WHOLE_ROWS &&
               vv_planes_of(whole, VV_HYPER_A, down->a, down->down->rows, rows);
    case VV_HYPER_UP:
        return whole->variant[last]->launch == launch_up<VV_BY_RULE> && up->a.x == down->a &&
               vv_rows(up->rows) == rows && up->h == down->h.x;
    case VV_HYPER_U: {
        const vv_planes *u = vv_planes_of(whole, VV_HYPER_U, up->u, up->width, rows);
        return u && !u->coarse_q;
    }
    default:
        return false;
    }
}

int launch_whole(const vv_whole *whole, const vv_launch *on) {
    if (whole->count <= VV_HYPER_UP) {
        return VV_ERROR_UNSUPPORTED;
    }
    vv_hyper_whole of = {};
    of.down = step_of<struct vv_hyper_down>(whole, VV_HYPER_DOWN);
    of.up = step_of<struct vv_hyper_up>(whole, VV_HYPER_UP);
    of.a = &step_of<struct vv_quantize_rows>(whole, VV_HYPER_A)->planes;
    if (whole->count > VV_HYPER_U) {
        of.u = &step_of<struct vv_quantize_rows>(whole, VV_HYPER_U)->planes;
    }
    for (size_t i = 0; i < whole->count; i++) {
        of.step[i] = whole->step[i].step;
    }
    return vv_cuda_hyper_whole(&of, on);
}
const vv_whole_way whole_way = {fits_whole, launch_whole};

const vv_variant norm_variants[] = {
    {"hyper_norm/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_norm, nullptr, nullptr,
     &norm_way},
    {},
};
#define VV_WAY(part, name, way)                                                                    \
    {                                                                                              \
        "hyper_" #part "/cuda_" name, VV_CUDA_ANY, true, many_##part, &vv_layout_split, nullptr,   \
            launch_##part<way>, nullptr                                                            \
    }
#define VV_WAYS(part)                                                                              \
    VV_WAY(part, "tile_64", VV_TILES_OF_64), VV_WAY(part, "tile_128", VV_TILES_OF_128),            \
        VV_WAY(part, "strip_16", VV_STRIPS_OF_16), VV_WAY(part, "strip_64", VV_STRIPS_OF_64)

const vv_variant down_variants[] = {
    VV_WAYS(down),
    {"hyper_down/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr,
     launch_down<VV_BY_RULE>, nullptr, nullptr, &whole_way},
    {},
};
const vv_variant up_variants[] = {
    VV_WAYS(up),
    {"hyper_up/cuda", VV_CUDA_ANY, true, fits_up, &vv_layout_split, nullptr, launch_up<VV_BY_RULE>,
     nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_hyper_read[] = {
    {"hyper_norm", norm_variants}, {"hyper_down", down_variants}, {"hyper_up", up_variants}, {}};
