/* The chunks of a row and head, merged in order, by a block of threads. */
#pragma once
#include "op/attend_window/cuda_keys.cuh"

namespace {

enum { MERGED_AT_ONCE = 8 };

/* Scratch memory: what chunks leave to be merged, [rows][heads][chunks]. */
struct partials {
    float2 *softmax; /* m_c, l_c */
    float *o;        /* [width] */
    unsigned chunks; /* room for so many */
};

struct merge_job {
    task t;
    partials from;
};

inline const struct vv_attend_window &attend_args(const void *args) {
    return *static_cast<const struct vv_attend_window *>(args);
}

inline task attend_task(const void *args, const vv_launch *on, uint32_t step) {
    task t = {attend_args(args), {on->status, step}};
    t.a.window = vv_on_device_as(on, t.a.window);
    return t;
}

/* Chunks that any row of such windows may have. */
inline size_t chunks_most(const struct vv_attend_window &a, const vv_launch *on) {
    size_t newest = (a.span + 2 * CHUNK - 2) / CHUNK, pooled = 0;
    if (a.pooled.base) {
        pooled = (size_t)on->depth / a.ratio;
        pooled = a.list && a.keep < pooled ? a.keep : pooled;
    }
    return newest + (pooled + CHUNK - 1) / CHUNK;
}

inline size_t partial_bytes(const struct vv_attend_window &a, const vv_launch *on) {
    size_t chunks = vv_rows(a.rows) * a.heads * chunks_most(a, on);
    return (chunks + 1) * sizeof(float2) + chunks * a.width * sizeof(float);
}

inline partials partials_of(const struct vv_attend_window &a, const vv_launch *on) {
    size_t chunks = chunks_most(a, on), all = vv_rows(a.rows) * a.heads * chunks;
    auto softmax = static_cast<float2 *>(on->scratch);
    return {softmax, reinterpret_cast<float *>(softmax + (all + 1) / 2 * 2), (unsigned)chunks};
}

/* factor: [chunks + 1] shared memory: a, b and l_c of each; the last is the sink's. */
__device__ void merge_head(const merge_job &j, unsigned row, unsigned head, float4 *factor) {
    const struct vv_attend_window &a = j.t.a;
    keys k = keys_of(a, row);
    if (k.block && k.pooled > a.keep) {
        return; /* told */
    }
    unsigned chunks = chunks_of(k), width = (unsigned)a.width;
    size_t at = (size_t)row * a.heads + head, first = at * j.from.chunks;
    const float *o_c = j.from.o + first * width;
    VV_UNROLL_BY(1)
    for (unsigned c = threadIdx.x; c <= chunks; c += blockDim.x) {
        float2 own = c < chunks ? j.from.softmax[first + c] : make_float2(a.sink[head], 1.0f);
        factor[c] = make_float4(0.0f, 0.0f, own.y, own.x);
    }
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned c = threadIdx.x; c <= chunks; c += blockDim.x) {
        float before = -INFINITY, own = factor[c].w;
        VV_UNROLL_BY(1)
        for (unsigned i = 0; i < c; i++) {
            before = fmaxf(before, factor[i].w);
        }
        float most = fmaxf(before, own);
        factor[c].x = vv_exp(before - most);
        factor[c].y = vv_exp(own - most);
    }
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned d = threadIdx.x; d < width; d += blockDim.x) {
        float o = 0.0f, l = 0.0f;
        VV_UNROLL_BY(1)
        for (unsigned c = 0; c < chunks; c += MERGED_AT_ONCE) {
            float next[MERGED_AT_ONCE];
            VV_UNROLL
            for (unsigned i = 0; i < MERGED_AT_ONCE; i++) {
                next[i] = c + i < chunks ? o_c[(size_t)(c + i) * width + d] : 0.0f;
            }
            VV_UNROLL
            for (unsigned i = 0; i < MERGED_AT_ONCE; i++) {
                if (c + i < chunks) {
                    float4 f = factor[c + i];
                    l = fmaf(f.z, f.y, l * f.x);
                    o = fmaf(next[i], f.y, o * f.x);
                }
            }
        }
        float4 f = factor[chunks];
        l = fmaf(f.z, f.y, l * f.x);
        a.y[at * width + d] = fmaf(0.0f, f.y, o * f.x) * (1.0f / l);
    }
}

inline size_t merge_bytes(const partials &p) {
    return (p.chunks + 1) * sizeof(float4);
}

} // namespace

/* Queues the chunks of a step of few rows; what is left to do is their merge. */
int vv_cuda_attend_chunks(const void *args, const vv_launch *on, uint32_t step);
/* Whether a step's chunks go to blocks of their own, however many rows it has. */
bool vv_cuda_attend_splits(const void *args);
