/* A block a row. */
#include "op/cuda/chain.h"
#include "op/hash_route/cuda_part.cuh"

namespace {

enum { THREADS = 128 };

constexpr size_t shared_most = 48 << 10;

__global__ void __launch_bounds__(THREADS) route(struct vv_hash_route a, vv_trouble trouble) {
    vv_follow();
    hash_route_row(a, blockIdx.x, vv_dynamic_shared<uint32_t>(), trouble);
}

bool fits(const void *args) {
    return hash_route_bytes(*static_cast<const struct vv_hash_route *>(args)) <= shared_most;
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_hash_route *>(args);
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(route, (unsigned)vv_rows(a.rows), THREADS, hash_route_bytes(a),
                          on->stream, a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"hash_route/cuda", VV_CUDA_ANY, true, fits, nullptr, nullptr, launch, nullptr, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_ROUTE]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_hash_route[] = {{"hash_route", variants}, {}};
