/* A block a row; most rows complete no block of tokens. */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/index_pool/contract.h"
VV_C_END

namespace {

enum { THREADS = 128 };

/* The window's arrays where the device has them. */
struct rows {
    const int32_t *position, *slot, *before;
};

/* The raw key of `distance` positions before row r's own: its row of the window is found from that
 * of the position after it, -1 once they are behind the window. */
__device__ const float *raw_key(const struct vv_index_pool &a, int32_t row, int32_t slot,
                                int32_t position) {
    if (row >= 0) {
        return a.k + (size_t)row * a.width;
    }
    return reinterpret_cast<const float *>(a.ring.base + (size_t)slot * a.ring.slot_stride +
                                           (uint32_t)position % a.ring.ring * a.ring.entry_stride);
}

__global__ void __launch_bounds__(THREADS)
    pool(struct vv_index_pool a, rows w, vv_trouble trouble) {
    const float **key = vv_dynamic_shared<const float *>(); /* [ratio] oldest first */
    float *y = reinterpret_cast<float *>(key + a.ratio), *part = y + a.width;
    int32_t position = w.position[blockIdx.x], ratio = (int32_t)a.ratio;
    int32_t first = position + 1 - ratio;
    bool completes = (position + 1) % ratio == 0;
    int32_t slot = w.slot[blockIdx.x];
    if (threadIdx.x == 0 && completes) {
        for (int32_t t = ratio - 1, row = (int32_t)blockIdx.x; t >= 0; t--) {
            key[t] = raw_key(a, row, slot, first + t);
            row = row >= 0 && t > 0 ? w.before[row] : -1;
        }
    }
    vv_follow();
    if (!completes) {
        return;
    }
    __syncthreads();
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        float sum = 0.0f;
        VV_UNROLL_BY(4)
        for (int32_t t = 0; t < ratio; t++) {
            sum += key[t][i];
        }
        y[i] = sum / (float)a.ratio;
    }
    __syncthreads();
    auto value = [&](size_t i) { return y[i]; };
    float squares = vv_dot_block(value, value, a.width, part);
    if (!isfinite(squares)) {
        if (threadIdx.x == 0) {
            vv_report(trouble, VV_ERROR_NOT_FINITE);
        }
        return;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a.width + a.eps);
    float *to = reinterpret_cast<float *>(a.pooled.base + (size_t)slot * a.pooled.slot_stride +
                                          (size_t)(first / ratio) * a.pooled.entry_stride);
    for (size_t i = threadIdx.x; i < a.width; i += THREADS) {
        float mine = (y[i] * inverse) * a.norm[i];
        size_t half = a.dims / 2, pair = i < half ? i : i - half;
        if (i < a.dims) {
            size_t partner = i < half ? i + half : pair;
            float other = (y[partner] * inverse) * a.norm[partner], sine, cosine;
            vv_sincos_turn((uint64_t)first * a.turn[pair], &sine, &cosine);
            mine =
                i < half ? fmaf(mine, cosine, -(other * sine)) : fmaf(mine, cosine, other * sine);
        }
        to[i] = mine;
    }
}

int launch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_index_pool *>(args);
    rows w = {vv_on_device_as(on, a.window->position), vv_on_device_as(on, a.window->slot),
              vv_on_device_as(on, a.window->before)};
    size_t shared = a.ratio * sizeof(float *) + (a.width + vv_segments(a.width)) * sizeof(float);
    return vv_start_early(pool, (unsigned)vv_rows(a.rows), THREADS, shared, on->stream, a, w,
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"index_pool/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_index_pool[] = {{"index_pool", variants}, {}};
