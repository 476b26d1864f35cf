/* One weight; the kernels are those of op/cuda/products*. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/gemv/contract.h"
#include "quant/split.h"
VV_C_END
#include "op/cuda/products.h"

namespace {

/* A weight's product as a part of a job that has its activations. */
void add(vv_product_job *job, const struct vv_gemv *a, uint32_t step) {
    vv_product_part *part = &job->part[job->parts++];
    vv_cuda_part(part, a->weight, step);
    part->end = VV_END_STORE;
    part->to = a->y;
    part->to_row = a->y_row;
}

vv_product_job job_of(const struct vv_gemv *a, vv_product_way way) {
    vv_product_job job = {};
    job.way = way;
    job.x = a->x;
    job.rows = (unsigned)vv_rows(a->rows);
    return job;
}

template <vv_product_way WAY> int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_gemv *>(args);
    vv_product_job job = job_of(a, WAY);
    add(&job, a, on->step);
    return vv_cuda_products(&job, on);
}

/* Whether they are planes of the same rows, some of which only one of them needs: `x` becomes what
 * serves both. */
bool join(vv_planes *x, const vv_planes *other) {
    vv_planes both = *x;
    bool same = x->x == other->x && x->width == other->width && x->float_only == other->float_only;
    auto take = [&](auto *&one, auto *of_other) {
        same = same && (!one || !of_other || one == of_other);
        one = one ? one : of_other;
    };
    take(both.coarse_q, other->coarse_q);
    take(both.coarse_scale, other->coarse_scale);
    take(both.coarse_sum16, other->coarse_sum16);
    take(both.fine_q, other->fine_q);
    take(both.fine_scale, other->fine_scale);
    take(both.fine_sum16, other->fine_sum16);
    if (same) {
        *x = both;
    }
    return same;
}

/* Those of the same activations are multiplied together. */
int launch_all(const vv_launched_step *steps, size_t count, const vv_launch *on) {
    bool done[VV_TOGETHER_MAX] = {};
    int code = VV_OK;
    for (size_t i = 0; i < count && code == VV_OK; i++) {
        if (done[i]) {
            continue;
        }
        auto a = static_cast<const struct vv_gemv *>(steps[i].args);
        vv_product_job job = job_of(a, VV_BY_RULE);
        for (size_t j = i; j < count; j++) {
            auto other = static_cast<const struct vv_gemv *>(steps[j].args);
            if (!done[j] && vv_rows(other->rows) == job.rows && job.parts < VV_PARTS_MAX &&
                join(&job.x, &other->x)) {
                add(&job, other, steps[j].step);
                done[j] = true;
            }
        }
        code = vv_cuda_products(&job, on);
    }
    return code;
}

/* Ways other than the rule's, each for the numbers of rows where it may be the best. */
template <vv_product_way WAY> bool fits(const void *args) {
    auto a = static_cast<const struct vv_gemv *>(args);
    size_t rows = vv_rows(a->rows), least = 1, most = SIZE_MAX;
    switch (WAY) {
    case VV_ONE_BY_ONE:
        most = 8;
        break;
    case VV_BY_FOUR:
    case VV_BY_EIGHT:
        least = 2;
        most = 64;
        break;
    case VV_TILES_OF_64:
        least = 4;
        break;
    default:
        least = 9;
        break;
    }
    if (WAY > VV_TILES_OF_64 && vv_is_float_type(a->weight->type)) {
        return false; /* floats have one tile */
    }
    return rows >= least && rows <= most && !a->x.float_only &&
           vv_cuda_way_fits(WAY, a->weight->type, a->x.width, a->weight->row_bytes, 1);
}

#define VV_GEMV(name, way)                                                                         \
    { name, VV_CUDA_ANY, true, fits<way>, &vv_layout_split, nullptr, launch<way>, nullptr, nullptr }

const vv_variant variants[] = {
    VV_GEMV("gemv/cuda_one", VV_ONE_BY_ONE),
    VV_GEMV("gemv/cuda_four", VV_BY_FOUR),
    VV_GEMV("gemv/cuda_eight", VV_BY_EIGHT),
    VV_GEMV("gemv/cuda_tile_64", VV_TILES_OF_64),
    VV_GEMV("gemv/cuda_tile_128", VV_TILES_OF_128),
    VV_GEMV("gemv/cuda_strip_16", VV_STRIPS_OF_16),
    VV_GEMV("gemv/cuda_strip_64", VV_STRIPS_OF_64),
    VV_GEMV("gemv/cuda_strip_128", VV_STRIPS_OF_128),
    VV_GEMV("gemv/cuda_group_128", VV_GROUPS_OF_128),
    {"gemv/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch<VV_BY_RULE>,
     nullptr, launch_all},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_gemv[] = {{"gemv", variants}, {}};
