/*
 * A grid's second dimension is the active experts, as many as there can be; a block beyond their
 * count ends at once, so the host need not know it. Gate and up of one format are multiplied
 * together, and their end is silu and product; others go through scratch memory.
 */
#include "op/cuda/chain.h"
#include "op/experts/cuda_sum.cuh"
VV_C_BEGIN
#include "op/experts/contract.h"
#include "quant/split.h"
VV_C_END
#include "op/cuda/products.h"

namespace {

enum { THREADS = 256 };

unsigned least(size_t a, size_t b) {
    return (unsigned)(a < b ? a : b);
}

/* Slice after slice of a weight, from a row of each on. */
void point_at(vv_product_part *part, int k, const vv_weight *weight, size_t first_row,
              const vv_launch *on) {
    vv_product_part p = {};
    vv_cuda_part(&p, weight, on->step);
    part->data[k] = p.data[0] + first_row * p.row_bytes;
    part->scale[k] = weight->scale;
    part->slice_bytes[k] = p.slice_bytes[0];
    part->row_bytes = p.row_bytes;
    part->type = weight->type;
    part->step = on->step;
}

/* ---- up ---- */

vv_product_job up_job(const struct vv_expert_up *a) {
    vv_product_job job = {};
    size_t rows = vv_rows(a->rows);
    job.x = a->u;
    job.rows = (unsigned)(rows * a->used);
    job.active = a->active;
    job.begin = a->begin;
    job.pair = a->pair;
    job.used = (unsigned)a->used;
    job.slices = (unsigned)a->gate->slices;
    job.slices_most = least(a->gate->slices, rows * a->used);
    job.rows_most = (unsigned)rows;
    job.limit = a->limit;
    job.row_weight = a->weight;
    job.parts = 1;
    job.part[0].outputs = (unsigned)a->hidden;
    job.part[0].matrices = 1;
    job.part[0].to_row = a->hidden;
    return job;
}

bool fits_together(const void *args) {
    auto a = static_cast<const struct vv_expert_up *>(args);
    return a->gate->type == a->up->type;
}

template <vv_product_way WAY> int launch_up(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_expert_up *>(args);
    vv_product_job job = up_job(a);
    job.way = WAY;
    job.part[0].matrices = 2;
    job.part[0].end = VV_END_SWIGLU;
    job.part[0].to = a->h;
    point_at(&job.part[0], 1, a->up, a->up_row, on);
    point_at(&job.part[0], 0, a->gate, 0, on);
    return vv_cuda_products(&job, on);
}

/* Gate's products, then up's. */
size_t apart_scratch(const void *args, const vv_launch *) {
    auto a = static_cast<const struct vv_expert_up *>(args);
    return 2 * vv_rows(a->rows) * a->used * a->hidden * sizeof(float);
}

__global__ void __launch_bounds__(THREADS)
    join(struct vv_expert_up a, const float *gate, const float *up, size_t n) {
    vv_follow();
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) {
        return;
    }
    float h = vv_gated(gate[i], up[i], vv_limit(a.limit));
    a.h[i] = a.weight ? h * a.weight[i / a.hidden] : h;
}

int launch_up_apart(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_expert_up *>(args);
    size_t n = vv_rows(a->rows) * a->used * a->hidden;
    float *gate = static_cast<float *>(on->scratch), *up = gate + n;
    vv_product_job job = up_job(a);
    job.part[0].end = VV_END_STORE;
    job.part[0].to = gate;
    point_at(&job.part[0], 0, a->gate, 0, on);
    int code = vv_cuda_products(&job, on);
    job.part[0].to = up;
    point_at(&job.part[0], 0, a->up, a->up_row, on);
    code = code == VV_OK ? vv_cuda_products(&job, on) : code;
    return code == VV_OK
               ? vv_start_early(join, vv_blocks(n, THREADS), THREADS, 0, on->stream, *a,
                                static_cast<const float *>(gate), static_cast<const float *>(up), n)
               : code;
}

/* ---- down ---- */

template <vv_product_way WAY> int launch_down(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_expert_down *>(args);
    size_t pairs = vv_rows(a->rows) * a->used;
    vv_product_job job = {};
    job.way = WAY;
    job.x = a->h;
    job.rows = (unsigned)pairs;
    job.active = a->active;
    job.begin = a->begin;
    job.pair = a->pair;
    job.used = 1; /* a pair has a row of its own */
    job.slices = (unsigned)a->down->slices;
    job.slices_most = least(a->down->slices, pairs);
    job.known_before = true; /* up's kernel knew it */
    job.rows_most = (unsigned)vv_rows(a->rows);
    job.parts = 1;
    job.part[0].outputs = (unsigned)a->width;
    job.part[0].matrices = 1;
    job.part[0].end = VV_END_STORE;
    job.part[0].to = a->y;
    job.part[0].to_row = a->width;
    point_at(&job.part[0], 0, a->down, 0, on);
    return vv_cuda_products(&job, on);
}

/* ---- sum ---- */

enum { SUM_THREADS = 64 };

template <unsigned N>
__global__ void __launch_bounds__(SUM_THREADS) add(struct vv_expert_sum a, size_t n) {
    unsigned width = (unsigned)a.width / N, at = blockIdx.x * SUM_THREADS + threadIdx.x;
    vv_follow();
    if (at < n) {
        sum_experts<N>(a, at / width, at % width * N);
    }
}

/* Four values a thread where rows are many. */
int launch_sum(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_expert_sum *>(args);
    constexpr size_t many = 64;
    size_t rows = vv_rows(a->rows), n = rows * a->width;
    bool fours = a->width % 4 == 0 && rows >= many;
    n = fours ? n / 4 : n;
    return vv_start_early(fours ? add<4> : add<1>, vv_blocks(n, SUM_THREADS), SUM_THREADS, 0,
                          on->stream, *a, n);
}

/* Ways other than the rule's, each for the numbers of rows where it may be the best. */
template <vv_product_way WAY>
bool fits_rows(size_t rows, const vv_planes &x, const vv_weight *weight, unsigned matrices) {
    size_t least = WAY == VV_ONE_BY_ONE ? 1 : 2;
    size_t most = WAY == VV_ONE_BY_ONE ? 8 : SIZE_MAX;
    return rows >= least && rows <= most && !x.float_only &&
           vv_cuda_way_fits(WAY, weight->type, x.width, weight->row_bytes, matrices);
}
template <vv_product_way WAY> bool fits_up(const void *args) {
    auto a = static_cast<const struct vv_expert_up *>(args);
    return fits_together(args) && fits_rows<WAY>(vv_rows(a->rows), a->u, a->gate, 2);
}
template <vv_product_way WAY> bool fits_down(const void *args) {
    auto a = static_cast<const struct vv_expert_down *>(args);
    return fits_rows<WAY>(vv_rows(a->rows), a->h, a->down, 1);
}

#define VV_WAY(operation, name, way)                                                               \
    {                                                                                              \
        "expert_" #operation "/cuda_" name, VV_CUDA_ANY, true, fits_##operation<way>,              \
            &vv_layout_split, nullptr, launch_##operation<way>, nullptr                            \
    }
#define VV_WAYS(operation)                                                                         \
    VV_WAY(operation, "one", VV_ONE_BY_ONE), VV_WAY(operation, "four", VV_BY_FOUR),                \
        VV_WAY(operation, "eight", VV_BY_EIGHT), VV_WAY(operation, "tile_64", VV_TILES_OF_64),     \
        VV_WAY(operation, "tile_128", VV_TILES_OF_128),                                            \
        VV_WAY(operation, "strip_16", VV_STRIPS_OF_16),                                            \
        VV_WAY(operation, "strip_64", VV_STRIPS_OF_64)

const vv_variant up_variants[] = {
    VV_WAYS(up),
    {"expert_up/cuda_apart", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch_up_apart,
     apart_scratch},
    {"expert_up/cuda", VV_CUDA_ANY, true, fits_together, &vv_layout_split, nullptr,
     launch_up<VV_BY_RULE>, nullptr},
    {},
};
const vv_variant down_variants[] = {
    VV_WAYS(down),
    {"expert_down/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr,
     launch_down<VV_BY_RULE>, nullptr},
    {},
};
const vv_variant sum_variants[] = {
    {"expert_sum/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_sum, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_SUM]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_experts[] = {
    {"expert_up", up_variants}, {"expert_down", down_variants}, {"expert_sum", sum_variants}, {}};
