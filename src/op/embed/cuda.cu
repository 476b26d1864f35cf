/* A thread a value of a row of the table, and all streams of it. */
#include "op/cuda/decode.cuh"
VV_C_BEGIN
#include "op/embed/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS)
    embed(vv_table t, const int32_t *token, float *x, size_t streams, vv_trouble trouble) {
    vv_follow();
    size_t row = blockIdx.x;
    unsigned i = blockIdx.y * THREADS + threadIdx.x;
    int32_t id = token[row];
    if (id < 0 || (size_t)id >= t.rows) {
        vv_report(trouble, VV_ERROR_INVALID);
        return;
    }
    if (i >= t.width) {
        return;
    }
    float v = vv_table_value(t, (size_t)id, i);
    for (size_t s = 0; s < streams; s++) {
        x[(row * streams + s) * t.width + i] = v;
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_embed *>(args);
    return vv_start_early(embed,
                          dim3((unsigned)vv_rows(a->rows), vv_blocks(a->table->width, THREADS)),
                          THREADS, 0, on->stream, vv_table_of(a->table),
                          vv_on_device_as(on, static_cast<const int32_t *>(a->window->token)), a->x,
                          a->streams, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"embed/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_embed[] = {{"embed", variants}, {}};
