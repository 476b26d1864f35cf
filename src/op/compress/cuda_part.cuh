/* A row that completes a block of tokens, by a block of threads; other rows are let be. */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/compress/contract.h"
VV_C_END

namespace {

enum { CANDIDATES_AT_ONCE = 4 };

/* What is added up for channel d, which is asked for several candidates at once. */
__device__ float pooled(const vv_candidate *c, unsigned n, unsigned d) {
    float most = -INFINITY, sum = 0.0f, y = 0.0f;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < n; first += CANDIDATES_AT_ONCE) {
        float g[CANDIDATES_AT_ONCE];
        VV_UNROLL
        for (unsigned j = 0; j < CANDIDATES_AT_ONCE; j++) {
            const vv_candidate &at = c[first + j < n ? first + j : first];
            g[j] = at.g[d] + at.ape[d];
        }
        VV_UNROLL
        for (unsigned j = 0; j < CANDIDATES_AT_ONCE; j++) {
            most = fmaxf(most, g[j]);
        }
    }
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < n; first += CANDIDATES_AT_ONCE) {
        float e[CANDIDATES_AT_ONCE], k[CANDIDATES_AT_ONCE];
        VV_UNROLL
        for (unsigned j = 0; j < CANDIDATES_AT_ONCE; j++) {
            const vv_candidate &at = c[first + j < n ? first + j : first];
            e[j] = vv_exp((at.g[d] + at.ape[d]) - most);
            k[j] = at.k[d];
        }
        VV_UNROLL
        for (unsigned j = 0; j < CANDIDATES_AT_ONCE; j++) {
            if (first + j < n) {
                sum += e[j];
                y = fmaf(e[j], k[j], y);
            }
        }
    }
    return y * (1.0f / sum);
}

/* The last `dims` values; all before them stay. */
__device__ void rotate_last(const struct vv_compress_rows &a, float *y, uint64_t position) {
    float *x = y + a.width - a.dims;
    VV_UNROLL_BY(1)
    for (size_t i = threadIdx.x; i < a.dims / 2; i += blockDim.x) {
        float even = x[2 * i], odd = x[2 * i + 1], s, c;
        vv_sincos_turn(position * a.turn[i], &s, &c);
        x[2 * i] = fmaf(even, c, -(odd * s));
        x[2 * i + 1] = fmaf(odd, c, even * s);
    }
}

/* Rows of the window of row's sequence, ascending in position, and the first one's position. */
struct sequence_rows {
    const int32_t *row;
    int64_t first;
};
__device__ sequence_rows sequence_rows_of(const vv_window *w, unsigned row) {
    const int32_t *rows = w->sequence_row;
    VV_UNROLL_BY(1)
    for (int32_t i = 0; i < w->sequences; i++) {
        const int32_t *these = w->sequence_row + w->sequence_begin[i];
        rows = w->slot[*these] == w->slot[row] ? these : rows;
    }
    return {rows, w->position[*rows]};
}

struct compress_memory {
    vv_candidate candidate[VV_COMPRESS_MOST];
    float y[1]; /* [width], then [segments] */
};
inline size_t compress_bytes(const struct vv_compress_rows &a) {
    return sizeof(compress_memory) + (a.width + vv_segments(a.width)) * sizeof(float);
}

__device__ void compress_row(const struct vv_compress_rows &a, unsigned row, compress_memory *m,
                             vv_trouble trouble) {
    float *y = m->y, *part = y + a.width;
    int64_t end = (int64_t)a.window->position[row] + 1;
    if ((uint64_t)end % a.ratio != 0) {
        return;
    }
    unsigned n = (unsigned)vv_compress_most(&a, row);
    sequence_rows own = sequence_rows_of(a.window, row);
    VV_UNROLL_BY(1)
    for (unsigned d = threadIdx.x; d < n; d += blockDim.x) {
        int64_t at = end - 1 - d - own.first;
        m->candidate[n - 1 - d] = vv_compress_candidate(&a, row, d, at >= 0 ? own.row[at] : -1);
    }
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned d = threadIdx.x; d < a.width; d += blockDim.x) {
        y[d] = pooled(m->candidate, n, d);
    }
    __syncthreads();
    auto value = [&](size_t i) { return y[i]; };
    float squares = vv_dot_block(value, value, a.width, part);
    if (!isfinite(squares)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a.width + a.eps);
    VV_UNROLL_BY(1)
    for (unsigned d = threadIdx.x; d < a.width; d += blockDim.x) {
        y[d] = (y[d] * inverse) * a.norm[d];
    }
    __syncthreads();
    rotate_last(a, y, (uint64_t)end - a.ratio);
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned d = threadIdx.x; d < a.width; d += blockDim.x) {
        a.y[row * a.width + d] = y[d];
    }
}

} // namespace
