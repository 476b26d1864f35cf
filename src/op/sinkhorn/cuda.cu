/*
 * sinkhorn: a block a row, whose first warp makes the factors. The matrix goes to and fro between
 * two places in shared memory; each of its elements is divided by a sum that its lane makes itself.
 * The other two: a thread a column.
 */
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/sinkhorn/contract.h"
VV_C_END

namespace {

enum { THREADS = 512, COLUMNS = 128, MATRIX_MOST = VV_STREAMS_MAX * VV_STREAMS_MAX };

/* Of the n numbers that lie `apart`. */
__device__ float sum_of(const float *at, unsigned n, unsigned apart) {
    float sum = 0.0f;
    for (unsigned i = 0; i < n; i++) {
        sum += at[i * apart];
    }
    return sum;
}

__device__ void softmax_rows(const float *c, float *to, unsigned n, float floor) {
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        const float *row = c + i / n * n;
        float most = -INFINITY, sum = 0.0f;
        for (unsigned t = 0; t < n; t++) {
            most = fmaxf(most, row[t]);
        }
        for (unsigned t = 0; t < n; t++) {
            sum += vv_exp(row[t] - most);
        }
        to[i] = vv_exp(c[i] - most) / sum + floor;
    }
    __syncwarp();
}

__device__ void divide(const float *c, float *to, unsigned n, bool by_rows, float floor) {
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        float sum = by_rows ? sum_of(c + i / n * n, n, 1) : sum_of(c + i % n, n, n);
        to[i] = c[i] / (sum + floor);
    }
    __syncwarp();
}

/* A matrix in `from`, balanced; returns which of the two has it. */
__device__ const float *balance(float *from, float *to, unsigned n, size_t rounds, float floor) {
    softmax_rows(from, to, n, floor);
    divide(to, from, n, false, floor);
    for (size_t round = 1; round < rounds; round++) {
        divide(from, to, n, true, floor);
        divide(to, from, n, false, floor);
    }
    return from;
}

__global__ void __launch_bounds__(THREADS) factors(struct vv_sinkhorn a, vv_trouble trouble) {
    vv_follow();
    __shared__ float matrix[2][MATRIX_MOST];
    size_t row = blockIdx.x, all = a.streams * a.width;
    unsigned n = (unsigned)a.streams;
    const float *x = a.x + row * all;
    auto value = [&](size_t i) { return x[i]; };
    float squares = vv_dot_block(value, value, all, vv_dynamic_shared<float>());
    if (threadIdx.x >= 32) {
        return;
    }
    if (!isfinite(squares)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inverse = 1.0f / sqrtf(squares / (float)all + a.eps);
    const float *mix = a.mix + row * (a.post ? 2 * n + n * n : n);
    for (unsigned s = threadIdx.x; s < n; s += 32) {
        a.pre[row * n + s] = vv_sigmoid(fmaf(mix[s] * inverse, a.scale[0], a.base[s])) + a.floor;
    }
    if (!a.post) {
        return;
    }
    for (unsigned s = threadIdx.x; s < n; s += 32) {
        a.post[row * n + s] =
            2.0f * vv_sigmoid(fmaf(mix[n + s] * inverse, a.scale[1], a.base[n + s]));
    }
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        matrix[0][i] = fmaf(mix[2 * n + i] * inverse, a.scale[2], a.base[2 * n + i]);
    }
    __syncwarp();
    const float *balanced = balance(matrix[0], matrix[1], n, a.rounds, a.floor);
    for (unsigned i = threadIdx.x; i < n * n; i += 32) {
        a.to[row * n * n + i] = balanced[i];
    }
}

int launch_factors(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_sinkhorn *>(args);
    return vv_start_early(factors, (unsigned)vv_rows(a->rows), THREADS,
                          vv_segments(a->streams * a->width) * sizeof(float), on->stream, *a,
                          vv_trouble_of(on));
}

__global__ void __launch_bounds__(COLUMNS) read(struct vv_stream_read a) {
    vv_follow();
    size_t row = blockIdx.x, i = (size_t)blockIdx.y * COLUMNS + threadIdx.x;
    if (i >= a.width) {
        return;
    }
    float u = 0.0f;
    for (size_t s = row * a.streams; s < (row + 1) * a.streams; s++) {
        u = fmaf(a.pre[s], a.x[s * a.width + i], u);
    }
    a.u[row * a.width + i] = u;
}

int launch_read(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_read *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->width, COLUMNS));
    return vv_start_early(read, grid, COLUMNS, 0, on->stream, *a);
}

__global__ void __launch_bounds__(COLUMNS) write(struct vv_stream_write a) {
    vv_follow();
    size_t row = blockIdx.x, i = (size_t)blockIdx.y * COLUMNS + threadIdx.x, n = a.streams;
    if (i >= a.width) {
        return;
    }
    float *x = a.x + row * n * a.width + i, y = a.y[row * a.width + i];
    float before[VV_STREAMS_MAX];
    VV_UNROLL
    for (size_t s = 0; s < VV_STREAMS_MAX; s++) {
        before[s] = s < n ? x[s * a.width] : 0.0f;
    }
    for (size_t t = 0; t < n; t++) {
        float sum = 0.0f;
        VV_UNROLL
        for (size_t s = 0; s < VV_STREAMS_MAX; s++) {
            sum = s < n ? fmaf(a.to[(row * n + s) * n + t], before[s], sum) : sum;
        }
        x[t * a.width] = fmaf(a.post[row * n + t], y, sum);
    }
}

int launch_write(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_stream_write *>(args);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(a->width, COLUMNS));
    return vv_start_early(write, grid, COLUMNS, 0, on->stream, *a);
}

const vv_variant factors_variants[] = {
    {"sinkhorn/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_factors, nullptr},
    {},
};

const vv_variant read_variants[] = {
    {"stream_read/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_read, nullptr},
    {},
};

const vv_variant write_variants[] = {
    {"stream_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_write, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_sinkhorn[] = {{"sinkhorn", factors_variants},
                                                           {"stream_read", read_variants},
                                                           {"stream_write", write_variants},
                                                           {}};
