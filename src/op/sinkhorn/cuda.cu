/* sinkhorn: a block a row. The other two: a thread a column, or four. */
#include "op/cuda/chain.h"
#include "op/sinkhorn/cuda_part.cuh"

namespace {

enum { THREADS = 1024, COLUMNS = 128 };

/* Of many rows, some go through the factors, by a warp each, while others are read. */
__global__ void __launch_bounds__(THREADS) factors(struct vv_sinkhorn a, vv_trouble trouble) {
    vv_follow();
    sinkhorn_row<true>(a, blockIdx.x, READING | WRITING, vv_dynamic_shared<sinkhorn_memory>(),
                       trouble);
}

int launch_factors(const void *args, const vv_launch *on) {
    constexpr unsigned threads_of_many = 256;
    auto a = static_cast<const struct vv_sinkhorn *>(args);
    unsigned rows = (unsigned)vv_rows(a->rows), threads = vv_segment_threads(a->streams * a->width);
    bool many = rows > on->processors && threads > threads_of_many;
    return vv_start_early(factors, rows, many ? threads_of_many : threads, sinkhorn_bytes(*a),
                          on->stream, *a, vv_trouble_of(on));
}

dim3 columns_of(size_t rows, size_t width, size_t each) {
    return {(unsigned)rows, vv_blocks(width, each * COLUMNS), 1};
}

template <unsigned N> __global__ void __launch_bounds__(COLUMNS) read(struct vv_stream_read a) {
    vv_follow();
    unsigned i = (blockIdx.y * COLUMNS + threadIdx.x) * N;
    if (i < a.width) {
        read_columns<N>(a, blockIdx.x, i);
    }
}

int launch_read(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_read *>(args);
    bool fours = vv_by_fours(vv_rows(a->rows), a->width, COLUMNS, on);
    return vv_start_early(fours ? read<4> : read<1>,
                          columns_of(vv_rows(a->rows), a->width, fours ? 4 : 1), COLUMNS, 0,
                          on->stream, *a);
}

/* Of no more than MOST streams. */
template <unsigned MOST, unsigned N>
__global__ void __launch_bounds__(COLUMNS) write(struct vv_stream_write a) {
    vv_follow();
    unsigned i = (blockIdx.y * COLUMNS + threadIdx.x) * N;
    if (i < a.width) {
        write_columns<MOST, N>(a, blockIdx.x, i);
    }
}

int launch_write(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_write *>(args);
    bool few = a->streams <= FEW_STREAMS,
         fours = few && vv_by_fours(vv_rows(a->rows), a->width, COLUMNS, on);
    return vv_start_early(fours ? write<FEW_STREAMS, 4>
                          : few ? write<FEW_STREAMS, 1>
                                : write<VV_STREAMS_MAX, 1>,
                          columns_of(vv_rows(a->rows), a->width, fours ? 4 : 1), COLUMNS, 0,
                          on->stream, *a);
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
