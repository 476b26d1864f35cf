/*
 * One row of activations. `lanes` neighbouring threads share a weight row, and four of them a
 * segment, each a group of 32 values. Whatever the number, each segment's s is computed alone and
 * kept in shared memory, and one thread adds a row's in ascending order: so no choice here changes
 * a bit. Weights are fetched at once, not staged: the kernel is too short to wait twice.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

/* One group's activations of a row. */
struct activations {
    int q[8];
    int sum[2]; /* of values 0..15, 16..31 */
    float scale;
};

template <bool SUPER, bool SUMS>
static __device__ __forceinline__ void load(const vv_planes &x, unsigned row, unsigned k,
                                            activations &a) {
    unsigned width = (unsigned)x.width;
    size_t at = (size_t)row * width + 32 * k;
    const int4 *q = reinterpret_cast<const int4 *>((SUPER ? x.coarse_q : x.fine_q) + at);
    int4 low = q[0], high = q[1];
    a.q[0] = low.x, a.q[1] = low.y, a.q[2] = low.z, a.q[3] = low.w;
    a.q[4] = high.x, a.q[5] = high.y, a.q[6] = high.z, a.q[7] = high.w;
    if (SUMS) {
        short2 s =
            *reinterpret_cast<const short2 *>((SUPER ? x.coarse_sum16 : x.fine_sum16) + at / 16);
        a.sum[0] = s.x;
        a.sum[1] = s.y;
    }
    a.scale =
        SUPER ? x.coarse_scale[(size_t)row * ((width + 127) / 128) + k / 4] : x.fine_scale[at / 32];
}

/* What a group and a row give: integers of a super-block format, or one or two factors and integers
 * of the chain of a block format. */
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

static __device__ __forceinline__ int add_quad(int v) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

static __device__ __forceinline__ float quad_float(float v, int lane) {
    return __shfl_sync(0xffffffffu, v, lane, 4);
}

/* One row: every lane of the quad gets the segment's s. */
template <int TYPE>
static __device__ __forceinline__ float segment_sum(const vv_group &g, const terms &t,
                                                    float scale) {
    using f = vv_codes::of<TYPE>;
    if (f::SUPER) {
        int i = add_quad(t.i), j = f::OFFSET ? add_quad(t.j) : 0;
        float s = (g.d * scale) * (float)i;
        return f::OFFSET ? fmaf(-(g.second * scale), (float)j, s) : s;
    }
    float s = 0.0f;
    VV_UNROLL
    for (int b = 0; b < 4; b++) {
        s = fmaf(quad_float(t.p, b), quad_float(t.v, b), s);
        if (f::TWO_STEPS || f::OFFSET) {
            s = fmaf(quad_float(t.p2, b), quad_float(t.v2, b), s);
        }
    }
    return s;
}

/* All segments of the block's slots. */
template <int TYPE>
static __device__ __forceinline__ void one_row(const vv_product_job &job, const place &at,
                                               unsigned row, float *sum) {
    using f = vv_codes::of<TYPE>;
    unsigned slot = threadIdx.x / at.lanes, sub = threadIdx.x % at.lanes;
    const uint8_t *weights = row_of_slot(at, slot);
    unsigned width = (unsigned)job.x.width, groups = width / 32;
    for (unsigned first = 0; first < at.segments * 4; first += at.lanes) {
        unsigned k = first + sub, segment = k / 4;
        bool here = k < groups;
        vv_group g;
        activations a;
        terms t = {};
        vv_unpack_group<TYPE>(weights, width, here ? k : 0, g);
        load<f::SUPER, f::BIAS != 0 || f::OFFSET>(job.x, row, here ? k : 0, a);
        if (here) {
            multiply<TYPE>(g, a, t);
        }
        float s = segment_sum<TYPE>(g, t, a.scale);
        if (k % 4 == 0 && segment < at.segments && slot < at.used) {
            sum[slot * at.stride + segment] = s;
        }
    }
}

} // namespace vv_products
