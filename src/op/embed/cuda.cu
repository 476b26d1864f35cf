/* A thread a value of a row of the table, and all streams of it. */
#include "quant/cuda/decode.cuh"
VV_C_BEGIN
#include "op/embed/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

struct table {
    const uint8_t *data;
    size_t row_bytes, rows;
    unsigned width;
    int type;
    const float *scale;
};

__global__ void __launch_bounds__(THREADS)
    embed(table t, const int32_t *token, float *x, size_t streams, vv_trouble trouble) {
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
    float v = vv_decode_lane(t.type, t.data + (size_t)id * t.row_bytes, t.width, i / 32, i % 32);
    v = t.scale ? v * *t.scale : v;
    for (size_t s = 0; s < streams; s++) {
        x[(row * streams + s) * t.width + i] = v;
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_embed *>(args);
    const vv_weight *w = a->table;
    table t = {w->data, vv_split_row_bytes(w->row_bytes), w->rows, (unsigned)w->width, w->type,
               w->scale};
    return vv_start(embed, dim3((unsigned)vv_rows(a->rows), vv_blocks(w->width, THREADS)), THREADS,
                    0, on->stream, t,
                    vv_on_device_as(on, static_cast<const int32_t *>(a->window->token)), a->x,
                    a->streams, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"embed/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_embed[] = {{"embed", variants}, {}};
