/* A block a stream of a row. */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/ngram_gate/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__device__ float signed_root(float d) {
    float root = sqrtf(fabsf(d) > 1e-6f ? fabsf(d) : 1e-6f);
    return d > 0.0f ? root : d < 0.0f ? -root : 0.0f;
}

__global__ void __launch_bounds__(THREADS) gate(struct vv_ngram_gate a, vv_trouble trouble) {
    vv_follow();
    size_t stream = blockIdx.x;
    const float *k = a.k + stream * a.width, *q = a.q + stream * a.width;
    const float *v = a.v + stream / a.streams * a.width;
    float dot = vv_dot_block([&](size_t i) { return k[i]; }, [&](size_t i) { return q[i]; },
                             a.width, vv_dynamic_shared<float>());
    if (!isfinite(dot)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float gate = vv_sigmoid(signed_root(dot / sqrtf((float)a.width)));
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        a.p[stream * a.width + i] = gate * v[i];
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_ngram_gate *>(args);
    return vv_start_early(gate, (unsigned)(vv_rows(a->rows) * a->streams), THREADS,
                          vv_segments(a->width) * sizeof(float), on->stream, *a, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"ngram_gate/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_ngram_gate[] = {{"ngram_gate", variants}, {}};
