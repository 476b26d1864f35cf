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

namespace {

enum { THREADS = 512 };

/* x stays in shared memory between the write and the norm. */
__global__ void __launch_bounds__(THREADS) norm(struct vv_hyper_norm a, vv_trouble trouble) {
    vv_follow();
    float *part = vv_dynamic_shared<float>(), *kept = part + vv_segments(a.width);
    size_t stream = blockIdx.x, row = stream / a.streams, s = stream % a.streams;
    float *x = a.x + stream * a.width;
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        float v = x[i];
        if (a.o) {
            v = fmaf(a.gamma[row * a.streams + s], a.o[row * a.width + i], v);
            x[i] = v;
        }
        kept[i] = v;
    }
    __syncthreads();
    auto value = [&](size_t i) { return kept[i]; };
    float sum = vv_dot_block(value, value, a.width, part);
    if (!isfinite(sum)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inv = 1.0f / sqrtf(sum / (float)a.width + a.eps);
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        a.h[stream * a.width + i] = (kept[i] * inv) * a.weight[s * a.width + i];
    }
}

int launch_norm(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_hyper_norm *>(args);
    unsigned blocks = (unsigned)(vv_rows(a.rows) * a.streams);
    size_t shared = (vv_segments(a.width) + a.width) * sizeof(float);
    return vv_start_early(norm, blocks, THREADS, shared, on->stream, a, vv_trouble_of(on));
}

/* ---- down ---- */

void add(vv_product_job *job, const vv_weight *weight, vv_product_end end, float *to,
         uint32_t step) {
    vv_product_part *part = &job->part[job->parts++];
    vv_cuda_part(part, weight, step);
    part->end = end;
    part->to = to;
    part->to_row = weight->rows;
}

int launch_down(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_hyper_down *>(args);
    vv_product_job job = {};
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

int launch_up(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_hyper_up *>(args);
    vv_product_job job = {};
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

const vv_variant norm_variants[] = {
    {"hyper_norm/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_norm, nullptr},
    {},
};
const vv_variant down_variants[] = {
    {"hyper_down/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch_down,
     nullptr},
    {},
};
const vv_variant up_variants[] = {
    {"hyper_up/cuda", VV_CUDA_ANY, true, fits_up, &vv_layout_split, nullptr, launch_up, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_hyper_read[] = {
    {"hyper_norm", norm_variants}, {"hyper_down", down_variants}, {"hyper_up", up_variants}, {}};
