/*
 * One row of activations. `lanes` neighbouring threads share a weight row, and two of them a
 * segment: each takes 64 values, whose codes and headers are often the same bytes. Whatever the
 * number, each segment's s is computed alone and kept in shared memory, and one thread adds a row's
 * in ascending order: so no choice here changes a bit.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

/* The activations of 64 values as a block stages them: sums of each 16; the scale of each 32, or of
 * all in [0]. Eight neighbours' sixteen bytes lie in different banks. */
struct staged_unit {
    int8_t q[64];
    int16_t sum[4];
    float scale[2];
};

/* One group's activations of a row. */
struct activations {
    int q[8];
    int sum[2]; /* of values 0..15, 16..31 */
    float scale;
};

template <int TYPE>
static __device__ __forceinline__ void load(const staged_unit &u, int group, activations &a) {
    const int4 *q = reinterpret_cast<const int4 *>(u.q + 32 * group);
    int4 low = q[0], high = q[1];
    a.q[0] = low.x, a.q[1] = low.y, a.q[2] = low.z, a.q[3] = low.w;
    a.q[4] = high.x, a.q[5] = high.y, a.q[6] = high.z, a.q[7] = high.w;
    a.sum[0] = u.sum[2 * group];
    a.sum[1] = u.sum[2 * group + 1];
    a.scale = u.scale[vv_codes::of<TYPE>::SUPER ? 0 : group];
}

/* The whole row, by all threads of the block. */
template <int TYPE>
static __device__ __forceinline__ void stage_row(const vv_planes &x, unsigned row,
                                                 unsigned segments, staged_unit *to) {
    using f = vv_codes::of<TYPE>;
    const int8_t *q = (f::SUPER ? x.coarse_q : x.fine_q) + (size_t)row * x.width;
    const int16_t *sum16 = (f::SUPER ? x.coarse_sum16 : x.fine_sum16) + row * (x.width / 16);
    const float *scale =
        f::SUPER ? x.coarse_scale + (size_t)row * segments : x.fine_scale + row * (x.width / 32);
    unsigned width = (unsigned)x.width, groups = width / 32;
    for (unsigned i = threadIdx.x; i < width / 16; i += THREADS) {
        vv_copy_async<16>(to[i / 4].q + 16 * (i % 4), q + 16 * i);
    }
    for (unsigned k = threadIdx.x; k < groups; k += THREADS) {
        if (f::BIAS != 0 || f::OFFSET) {
            vv_copy_async<4>(to[k / 2].sum + 2 * (k % 2), sum16 + 2 * k);
        }
        if (!f::SUPER || k % 2 == 0) {
            vv_copy_async<4>(to[k / 2].scale + (f::SUPER ? 0 : k % 2),
                             scale + (f::SUPER ? k / 4 : k));
        }
    }
    vv_copy_commit();
    vv_copy_wait<0>();
    __syncthreads();
}

/* What a group gives: integers of a super-block format, or one or two factors and integers of the
 * chain of a block format. */
struct terms {
    int i, j;
    float p, v, p2, v2;
};

template <int TYPE>
static __device__ __forceinline__ void multiply(const vv_group &g, const activations &a, terms &t) {
    using f = vv_codes::of<TYPE>;
    int dot[2] = {0, 0};
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        dot[0] = __dp4a(g.w[i], a.q[i], dot[0]);
        dot[1] = __dp4a(g.w[4 + i], a.q[4 + i], dot[1]);
    }
    if (f::BIAS) {
        dot[0] -= f::BIAS * a.sum[0];
        dot[1] -= f::BIAS * a.sum[1];
    }
    if (f::SUPER) {
        t.i = f::SUB16 ? g.scale[0] * dot[0] + g.scale[1] * dot[1] : g.scale[0] * (dot[0] + dot[1]);
        t.j = f::OFFSET ? g.min[0] * a.sum[0] + g.min[1] * a.sum[1] : 0;
        return;
    }
    t.p = g.d * a.scale;
    if (f::TWO_STEPS) {
        t.v = (float)dot[0];
        t.p2 = g.second * a.scale;
        t.v2 = (float)dot[1];
        return;
    }
    t.v = (float)(dot[0] + dot[1]);
    if (f::OFFSET) {
        t.p2 = g.second * a.scale;
        t.v2 = (float)(a.sum[0] + a.sum[1]);
    }
}

/* The chain of a block format goes on from s. */
template <int TYPE> static __device__ __forceinline__ float chain(const terms &t, float s) {
    s = fmaf(t.p, t.v, s);
    return vv_codes::of<TYPE>::TWO_STEPS || vv_codes::of<TYPE>::OFFSET ? fmaf(t.p2, t.v2, s) : s;
}

/* s of the segment that this thread shares with its neighbour; the odd one of them has it. */
template <int TYPE>
static __device__ __forceinline__ float segment_sum(const vv_group &g, const terms (&t)[2],
                                                    float scale) {
    using f = vv_codes::of<TYPE>;
    if (f::SUPER) {
        int i = t[0].i + t[1].i, j = t[0].j + t[1].j;
        i += __shfl_xor_sync(0xffffffffu, i, 1);
        float s = (g.d * scale) * (float)i;
        if (f::OFFSET) {
            j += __shfl_xor_sync(0xffffffffu, j, 1);
            s = fmaf(-(g.second * scale), (float)j, s);
        }
        return s;
    }
    float first = chain<TYPE>(t[1], chain<TYPE>(t[0], 0.0f));
    float before = __shfl_xor_sync(0xffffffffu, first, 1);
    return chain<TYPE>(t[1], chain<TYPE>(t[0], before));
}

/* This thread's part of its slot's weight row. */
template <int TYPE>
static __device__ __forceinline__ unit<TYPE> unit_of(const vv_product_job &job, const place &at) {
    unsigned sub = threadIdx.x % at.lanes;
    return {row_of_slot(at, threadIdx.x / at.lanes), (unsigned)job.x.width, sub % 2};
}

/* Asks for the first turns' weights. */
template <int TYPE>
static __device__ __forceinline__ void fetch_first(const vv_product_job &job, const place &at) {
    unit<TYPE> u = unit_of<TYPE>(job, at);
    VV_UNROLL
    for (unsigned turn = 0; turn < 3; turn++) {
        u.template fetch<false>((turn * at.lanes + threadIdx.x % at.lanes) / 2);
    }
}

/* All segments of the block's slots. */
template <int TYPE>
static __device__ __forceinline__ void one_row(const vv_product_job &job, const place &at,
                                               unsigned row, staged_unit *staged, float *sum) {
    using f = vv_codes::of<TYPE>;
    unsigned slot = threadIdx.x / at.lanes, sub = threadIdx.x % at.lanes;
    unit<TYPE> mine = unit_of<TYPE>(job, at);
    unsigned groups = mine.width / 32;
    stage_row<TYPE>(job.x, row, at.segments, staged);
    VV_UNROLL_BY(2)
    for (unsigned first = 0; first < 2 * at.segments; first += at.lanes) {
        unsigned u = first + sub;
        const bool here[2] = {2 * u < groups, 2 * u + 1 < groups};
        unsigned k[2] = {here[0] ? 2 * u : 0, 0};
        k[1] = k[0] + (f::VALUES > 32 || here[1]); /* blocks of more values are never halved */
        vv_group g[2];
        activations a[2];
        terms t[2] = {};
        mine.template fetch<false>((u + 3 * at.lanes) / 2);
        VV_UNROLL
        for (int i = 0; i < 2; i++) {
            vv_unpack_group<TYPE>(mine.row, mine.width, k[i], g[i]);
            load<TYPE>(staged[k[i] / 2], i, a[i]);
        }
        VV_UNROLL
        for (int i = 0; i < 2; i++) {
            if (here[i]) {
                multiply<TYPE>(g[i], a[i], t[i]);
            }
        }
        float s = segment_sum<TYPE>(g[0], t, a[0].scale);
        if (u % 2 == 1 && u / 2 < at.segments && slot < at.used) {
            sum[slot * at.stride + u / 2] = s;
        }
    }
}

} // namespace vv_products
