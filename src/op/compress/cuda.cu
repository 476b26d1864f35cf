/* A block a row; those that complete no block of tokens end at once. */
#include "op/compress/cuda_part.cuh"
#include "op/cuda/chain.h"

namespace {

enum { THREADS = 512 };

__global__ void __launch_bounds__(THREADS) pool(struct vv_compress_rows a, vv_trouble trouble) {
    vv_follow();
    compress_row(a, blockIdx.x, vv_dynamic_shared<compress_memory>(), trouble);
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_compress_rows *>(args);
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(pool, (unsigned)vv_rows(a.rows), THREADS, compress_bytes(a), on->stream,
                          a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"compress/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_COMPRESS]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_compress[] = {{"compress", variants}, {}};
