/* A thread a value of a stream, or four. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/hyper_write/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

template <unsigned N> __global__ void __launch_bounds__(THREADS) write(struct vv_hyper_write a) {
    unsigned stream = blockIdx.x, i = (blockIdx.y * THREADS + threadIdx.x) * N;
    float *x = a.x + stream * a.width + i;
    const float *o = a.o + stream / (unsigned)a.streams * a.width + i;
    vv_follow();
    if (i >= a.width) {
        return;
    }
    vv_values<N> to = vv_load_values<N>(x), from = vv_load_values<N>(o);
    VV_UNROLL
    for (unsigned k = 0; k < N; k++) {
        to.v[k] = fmaf(a.gamma[stream], from.v[k], to.v[k]);
    }
    vv_store_values(x, to);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_hyper_write *>(args);
    size_t rows = vv_rows(a->rows) * a->streams;
    bool fours = vv_by_fours(rows, a->width, THREADS, on);
    dim3 grid((unsigned)rows, vv_blocks(a->width, fours ? 4 * THREADS : THREADS));
    return vv_start_early(fours ? write<4> : write<1>, grid, THREADS, 0, on->stream, *a);
}

const vv_variant variants[] = {
    {"hyper_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_hyper_write[] = {{"hyper_write", variants}, {}};
