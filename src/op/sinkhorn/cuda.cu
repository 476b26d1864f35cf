/* sinkhorn: a block a row. The other two: a thread a column. */
#include "op/cuda/chain.h"
#include "op/sinkhorn/cuda_part.cuh"

namespace {

enum { THREADS = 1024, COLUMNS = 128 };

__global__ void __launch_bounds__(THREADS) factors(struct vv_sinkhorn a, vv_trouble trouble) {
    vv_follow();
    sinkhorn_row<true>(a, blockIdx.x, READING | WRITING, vv_dynamic_shared<sinkhorn_memory>(),
                       trouble);
}

int launch_factors(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_sinkhorn *>(args);
    return vv_start_early(factors, (unsigned)vv_rows(a->rows),
                          vv_segment_threads(a->streams * a->width), sinkhorn_bytes(*a), on->stream,
                          *a, vv_trouble_of(on));
}

__global__ void __launch_bounds__(COLUMNS) read(struct vv_stream_read a) {
    vv_follow();
    unsigned i = blockIdx.y * COLUMNS + threadIdx.x;
    if (i < a.width) {
        a.u[blockIdx.x * a.width + i] = read_column(a, blockIdx.x, i);
    }
}

int launch_read(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_read *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->width, COLUMNS));
    return vv_start_early(read, grid, COLUMNS, 0, on->stream, *a);
}

/* Of no more than MOST streams. */
template <unsigned MOST>
__global__ void __launch_bounds__(COLUMNS) write(struct vv_stream_write a) {
    vv_follow();
    unsigned i = blockIdx.y * COLUMNS + threadIdx.x;
    if (i < a.width) {
        write_column<MOST>(a, blockIdx.x, i);
    }
}

int launch_write(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_write *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->width, COLUMNS));
    return vv_start_early(a->streams <= FEW_STREAMS ? write<FEW_STREAMS> : write<VV_STREAMS_MAX>,
                          grid, COLUMNS, 0, on->stream, *a);
}

const vv_variant factors_variants[] = {
    {"sinkhorn/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_factors, nullptr,
     nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_SINKHORN]},
    {},
};

const vv_variant read_variants[] = {
    {"stream_read/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_read, nullptr,
     nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_READ]},
    {},
};

const vv_variant write_variants[] = {
    {"stream_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_write, nullptr,
     nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_WRITE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_sinkhorn[] = {{"sinkhorn", factors_variants},
                                                           {"stream_read", read_variants},
                                                           {"stream_write", write_variants},
                                                           {}};
