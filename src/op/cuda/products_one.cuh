/*
 * One row of activations. `lanes` neighbouring threads share a weight row, and two of them a
 * segment: each takes 64 values, whose codes and headers are often the same bytes. Whatever the
 * number, each segment's s is computed alone and kept in shared memory, and one thread adds a row's
 * in ascending order: so no choice here changes a bit.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

/* One group's activations of a row. */
struct activations {
    int q[8];
    int sum[2]; /* of values 0..15, 16..31 */
};

template <bool SUPER, bool SUMS>
static __device__ __forceinline__ void load(const vv_planes &x, size_t at, activations &a) {
    const int4 *q = reinterpret_cast<const int4 *>((SUPER ? x.coarse_q : x.fine_q) + at);
    int4 low = __ldg(q), high = __ldg(q + 1);
    a.q[0] = low.x, a.q[1] = low.y, a.q[2] = low.z, a.q[3] = low.w;
    a.q[4] = high.x, a.q[5] = high.y, a.q[6] = high.z, a.q[7] = high.w;
    if (SUMS) {
        short2 s =
            *reinterpret_cast<const short2 *>((SUPER ? x.coarse_sum16 : x.fine_sum16) + at / 16);
        a.sum[0] = s.x;
        a.sum[1] = s.y;
    }
}

/* What a group gives: integers of a super-block format, or one or two factors and integers of the
 * chain of a block format. */
struct terms {
    int i, j;
    float p, v, p2, v2;
};

template <int TYPE>
static __device__ __forceinline__ void multiply(const vv_group &g, const activations &a,
                                                float scale, terms &t) {
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
    t.p = g.d * scale;
    if (f::TWO_STEPS) {
        t.v = (float)dot[0];
        t.p2 = g.second * scale;
        t.v2 = (float)dot[1];
        return;
    }
    t.v = (float)(dot[0] + dot[1]);
    if (f::OFFSET) {
        t.p2 = g.second * scale;
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

/* All segments of the block's slots. */
template <int TYPE>
static __device__ __forceinline__ void one_row(const vv_product_job &job, const place &at,
                                               unsigned row, float *sum) {
    using f = vv_codes::of<TYPE>;
    constexpr bool sums = f::BIAS != 0 || f::OFFSET;
    unsigned slot = threadIdx.x / at.lanes, sub = threadIdx.x % at.lanes;
    const uint8_t *weights = row_of_slot(at, slot);
    unsigned width = (unsigned)job.x.width, groups = width / 32;
    size_t x = (size_t)row * width;
    size_t scales = f::SUPER ? (size_t)row * at.segments : x / 32;
    VV_UNROLL_BY(2)
    for (unsigned first = 0; first < 2 * at.segments; first += at.lanes) {
        unsigned u = first + sub;
        bool here[2] = {2 * u < groups, 2 * u + 1 < groups};
        unsigned k[2] = {here[0] ? 2 * u : 0, 0};
        k[1] = k[0] + (f::VALUES > 32 || here[1]); /* blocks of more values are never halved */
        vv_group g[2];
        activations a[2];
        terms t[2] = {};
        float scale[2];
        VV_UNROLL
        for (int i = 0; i < 2; i++) {
            vv_unpack_group<TYPE>(weights, width, k[i], g[i]);
            load<f::SUPER, sums>(job.x, x + 32 * k[i], a[i]);
            scale[i] =
                f::SUPER ? job.x.coarse_scale[scales + k[i] / 4] : job.x.fine_scale[scales + k[i]];
        }
        VV_UNROLL
        for (int i = 0; i < 2; i++) {
            if (here[i]) {
                multiply<TYPE>(g[i], a[i], scale[i], t[i]);
            }
        }
        float s = segment_sum<TYPE>(g[0], t, scale[0]);
        if (u % 2 == 1 && u / 2 < at.segments && slot < at.used) {
            sum[slot * at.stride + u / 2] = s;
        }
    }
}

} // namespace vv_products
