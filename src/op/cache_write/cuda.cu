/* A block an entry, or a part of one, whose place a thread finds for all; a thread an element at a
 * time, or four. */
#include "op/cache_write/cuda_part.cuh"
#include "op/cuda/chain.h"

namespace {

enum { THREADS = 256, TOGETHER = 4 /* loads of a thread */ };

template <unsigned N>
__global__ void __launch_bounds__(THREADS) write(cache_job j, vv_trouble trouble) {
    __shared__ void *entry;
    if (threadIdx.x == 0) {
        entry = cache_entry(j, blockIdx.x);
    }
    __syncthreads();
    vv_follow();
    if (!entry) {
        return;
    }
    unsigned width = (unsigned)j.a.to.width, step = gridDim.y * THREADS * N;
    unsigned first = (blockIdx.y * THREADS + threadIdx.x) * N;
    VV_UNROLL_BY(1)
    for (; first < width; first += TOGETHER * step) {
        vv_values<N> values[TOGETHER];
        VV_UNROLL
        for (unsigned k = 0; k < TOGETHER; k++) {
            unsigned at = first + k * step;
            values[k] = load_elements<N>(j, blockIdx.x, at < width ? at : first);
        }
        VV_UNROLL
        for (unsigned k = 0; k < TOGETHER; k++) {
            unsigned at = first + k * step;
            if (at < width) {
                store_elements(j, entry, at, values[k], trouble);
            }
        }
    }
}

/* Whether four elements lie together wherever they are. */
bool by_fours(const struct vv_cache_write &a) {
    size_t part = a.second ? a.to.width / 2 : a.to.width, bytes = a.to.type == VV_TYPE_F16 ? 8 : 16;
    auto places = reinterpret_cast<uintptr_t>(a.from) | reinterpret_cast<uintptr_t>(a.second);
    size_t state = reinterpret_cast<uintptr_t>(a.to.base) | a.to.slot_stride | a.to.entry_stride;
    return (part | a.row_stride) % 4 == 0 && places % 16 == 0 && state % bytes == 0;
}

/* Many rows, of which few may stay, have a block each. */
int launch(const void *args, const vv_launch *on) {
    constexpr size_t blocks_enough = 8; /* of a processor */
    cache_job j = cache_job_of(args, on);
    auto a = static_cast<const struct vv_cache_write *>(args);
    bool fours = by_fours(j.a);
    unsigned rows = (unsigned)vv_rows(a->rows);
    unsigned most = vv_blocks(j.a.to.width, fours ? 4 * THREADS : THREADS);
    unsigned wanted = vv_blocks(blocks_enough * on->processors, rows ? rows : 1);
    return vv_start_early(fours ? write<4> : write<1>, dim3(rows, wanted < most ? wanted : most),
                          THREADS, 0, on->stream, j, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"cache_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_STORE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_cache_write[] = {{"cache_write", variants}, {}};
