/* A thread an element of an entry. */
#include "op/cache_write/cuda_part.cuh"
#include "op/cuda/chain.h"

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) write(cache_job j, vv_trouble trouble) {
    write_element(j, blockIdx.x, blockIdx.y * THREADS + threadIdx.x, trouble, vv_follow);
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_cache_write *>(args);
    dim3 blocks((unsigned)vv_rows(a->rows), vv_blocks(a->to.width, THREADS));
    return vv_start_early(write, blocks, THREADS, 0, on->stream, cache_job_of(args, on),
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"cache_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_STORE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_cache_write[] = {{"cache_write", variants}, {}};
