/* One weight; the kernels are those of op/cuda/products*. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/gemv/contract.h"
#include "quant/split.h"
VV_C_END
#include "op/cuda/products.h"

namespace {

template <vv_product_way WAY> int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_gemv *>(args);
    vv_product_job job = {};
    job.way = WAY;
    job.x = a->x;
    job.rows = (unsigned)vv_rows(a->rows);
    job.parts = 1;
    vv_cuda_part(&job.part[0], a->weight);
    job.part[0].end = VV_END_STORE;
    job.part[0].to = a->y;
    job.part[0].to_row = a->y_row;
    return vv_cuda_products(&job, on);
}

/* Ways other than the rule's, each for the numbers of rows where it may be the best. */
template <vv_product_way WAY> bool fits(const void *args) {
    auto a = static_cast<const struct vv_gemv *>(args);
    size_t rows = vv_rows(a->rows), least = 1, most = SIZE_MAX;
    switch (WAY) {
    case VV_ONE_BY_ONE:
        most = 8;
        break;
    case VV_A_FEW:
        most = 16;
        break;
    case VV_TILES_OF_64:
        least = 4;
        break;
    default:
        least = 9;
        break;
    }
    if (WAY == VV_TILES_OF_128 && vv_is_float_type(a->weight->type)) {
        return false; /* floats have one tile */
    }
    return rows >= least && rows <= most && !a->x.float_only && vv_cuda_way_fits(WAY, a->x.width);
}

#define VV_GEMV(name, way)                                                                         \
    { name, VV_CUDA_ANY, true, fits<way>, &vv_layout_split, nullptr, launch<way>, nullptr }

const vv_variant variants[] = {
    VV_GEMV("gemv/cuda_one", VV_ONE_BY_ONE),
    VV_GEMV("gemv/cuda_few", VV_A_FEW),
    VV_GEMV("gemv/cuda_tile_64", VV_TILES_OF_64),
    VV_GEMV("gemv/cuda_tile_128", VV_TILES_OF_128),
    {"gemv/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch<VV_BY_RULE>,
     nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_gemv[] = {{"gemv", variants}, {}};
