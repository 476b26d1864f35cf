/* A block a row; those that complete no block of tokens end at once. */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/compress/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

__device__ float pooled(const vv_candidate *c, size_t n, size_t d) {
    float most = -INFINITY, sum = 0.0f, y = 0.0f;
    for (size_t j = 0; j < n; j++) {
        most = fmaxf(most, c[j].g[d] + c[j].ape[d]);
    }
    for (size_t j = 0; j < n; j++) {
        float e = vv_exp((c[j].g[d] + c[j].ape[d]) - most);
        sum += e;
        y = fmaf(e, c[j].k[d], y);
    }
    return y * (1.0f / sum);
}

/* The last `dims` values; all before them stay. */
__device__ void rotate(const struct vv_compress_rows *a, float *y, uint64_t position) {
    float *x = y + a->width - a->dims;
    for (size_t i = threadIdx.x; i < a->dims / 2; i += THREADS) {
        float even = x[2 * i], odd = x[2 * i + 1], s, c;
        vv_sincos_turn(position * a->turn[i], &s, &c);
        x[2 * i] = fmaf(even, c, -(odd * s));
        x[2 * i + 1] = fmaf(odd, c, even * s);
    }
}

__global__ void __launch_bounds__(THREADS) pool(struct vv_compress_rows a, vv_trouble trouble) {
    vv_follow();
    __shared__ vv_candidate candidate[VV_COMPRESS_MOST];
    auto y = vv_dynamic_shared<float>(), part = y + a.width; /* [width], [segments] */
    size_t row = blockIdx.x;
    uint64_t end = (uint64_t)a.window->position[row] + 1;
    if (end % a.ratio != 0) {
        return;
    }
    size_t n = vv_compress_most(&a, row);
    for (size_t d = threadIdx.x; d < n; d += THREADS) {
        int32_t at = vv_window_back(a.window, (int32_t)row, (int32_t)d);
        candidate[n - 1 - d] = vv_compress_candidate(&a, row, d, at);
    }
    __syncthreads();
    for (size_t d = threadIdx.x; d < a.width; d += THREADS) {
        y[d] = pooled(candidate, n, d);
    }
    __syncthreads();
    auto value = [&](size_t i) { return y[i]; };
    float squares = vv_dot_block(value, value, a.width, part);
    if (!isfinite(squares)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a.width + a.eps);
    for (size_t d = threadIdx.x; d < a.width; d += THREADS) {
        y[d] = (y[d] * inverse) * a.norm[d];
    }
    __syncthreads();
    rotate(&a, y, end - a.ratio);
    __syncthreads();
    for (size_t d = threadIdx.x; d < a.width; d += THREADS) {
        a.y[row * a.width + d] = y[d];
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_compress_rows *>(args);
    size_t shared = (a.width + vv_segments(a.width)) * sizeof(float);
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(pool, (unsigned)vv_rows(a.rows), THREADS, shared, on->stream, a,
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"compress/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_compress[] = {{"compress", variants}, {}};
