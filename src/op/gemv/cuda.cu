/* One weight; the kernels are those of quant/cuda. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/gemv/contract.h"
#include "quant/split.h"
VV_C_END
#include "op/cuda/products.h"

static int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_gemv *>(args);
    vv_product_job job = {};
    job.x = a->x;
    job.rows = (unsigned)vv_rows(a->rows);
    job.parts = 1;
    vv_cuda_part(&job.part[0], a->weight);
    job.part[0].end = VV_END_STORE;
    job.part[0].to = a->y;
    job.part[0].to_row = a->y_row;
    return vv_cuda_products(&job, on);
}

static const vv_variant variants[] = {
    {"gemv/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch, nullptr},
    {},
};

extern const vv_more_variants vv_cuda_folder_gemv[] = {{"gemv", variants}, {}};
