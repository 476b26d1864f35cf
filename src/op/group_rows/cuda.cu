/* A thread a pair; the first of a group lists it. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/group_rows/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) list(struct vv_group_rows a, unsigned rows) {
    vv_follow();
    unsigned r = blockIdx.x * THREADS + threadIdx.x, g = blockIdx.y;
    unsigned groups = (unsigned)a.groups;
    if (r < rows) {
        a.pair[g * rows + r] = (int32_t)(r * groups + g);
    }
    if (r == 0) {
        a.active[1 + g] = (int32_t)g;
        a.begin[g] = (int32_t)(g * rows);
    }
    if (r == 0 && g == 0) {
        a.active[0] = (int32_t)groups;
        a.begin[groups] = (int32_t)(groups * rows);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_group_rows *>(args);
    unsigned rows = (unsigned)vv_rows(a->rows), blocks = vv_blocks(rows, THREADS);
    return vv_start_early(list, dim3(blocks > 0 ? blocks : 1, (unsigned)a->groups), THREADS, 0,
                          on->stream, *a, rows);
}

const vv_variant variants[] = {
    {"group_rows/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_group_rows[] = {{"group_rows", variants}, {}};
