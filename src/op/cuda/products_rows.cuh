/*
 * One row of activations, or up to four at once. `lanes` neighbouring threads share a weight row,
 * and four of them a segment, each a group of 32 values. Whatever the number, each segment's s is
 * computed alone and kept in shared memory, and one thread adds a row's in ascending order: so no
 * choice here changes a bit.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

/* What a group and a row of activations give: of a super-block format the segment's integers, of a
 * block format the products of its 32 values or of 16 and 16. */
struct group_dots {
    int first, second;
};

template <int TYPE>
static __device__ __forceinline__ group_dots multiply(const vv_group &g, const vv_planes &x,
                                                      unsigned row, unsigned k) {
    using f = vv_codes::of<TYPE>;
    size_t at = (size_t)row * (unsigned)x.width + 32 * k;
    const int4 *q = reinterpret_cast<const int4 *>((f::SUPER ? x.coarse_q : x.fine_q) + at);
    int4 low = q[0], high = q[1];
    const int a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    short2 sum = {};
    if (f::BIAS || (f::SUPER && f::OFFSET)) {
        sum =
            *reinterpret_cast<const short2 *>((f::SUPER ? x.coarse_sum16 : x.fine_sum16) + at / 16);
    }
    int dot[2] = {-f::BIAS * sum.x, -f::BIAS * sum.y};
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        dot[0] = __dp4a(g.w[i], a[i], dot[0]);
        dot[1] = __dp4a(g.w[4 + i], a[4 + i], dot[1]);
    }
    if (f::SUPER) {
        int i =
            f::SUB16 ? g.scale[0] * dot[0] + g.scale[1] * dot[1] : g.scale[0] * (dot[0] + dot[1]);
        return {i, f::OFFSET ? g.min[0] * sum.x + g.min[1] * sum.y : 0};
    }
    return {f::TWO_STEPS ? dot[0] : dot[0] + dot[1], f::TWO_STEPS ? dot[1] : 0};
}

/* ---- among the four threads of a segment ---- */

static __device__ __forceinline__ int from_quad(int v, int apart) {
    return __shfl_xor_sync(0xffffffffu, v, apart);
}
static __device__ __forceinline__ float of_quad(float v, int lane) {
    return __shfl_sync(0xffffffffu, v, lane, 4);
}

/* Thread i gets the sum over the four of v[i]; of one row, all get it. */
template <unsigned R> static __device__ __forceinline__ int add_quad(const int (&v)[R]) {
    if (R == 1) {
        int two = v[0] + from_quad(v[0], 1);
        return two + from_quad(two, 2);
    }
    bool high = threadIdx.x & 2, odd = threadIdx.x & 1;
    int low0 = v[0], low1 = v[1 % R], high0 = v[2 % R], high1 = v[3 % R];
    int mine0 = (high ? high0 : low0) + from_quad(high ? low0 : high0, 2);
    int mine1 = (high ? high1 : low1) + from_quad(high ? low1 : high1, 2);
    return (odd ? mine1 : mine0) + from_quad(odd ? mine0 : mine1, 1);
}

/* Thread i gets the four threads' v[i], thread after thread; of one row, all get them. */
template <unsigned R>
static __device__ __forceinline__ void spread_quad(const int (&v)[R], float (&to)[4]) {
    if (R == 1) {
        VV_UNROLL
        for (int b = 0; b < 4; b++) {
            to[b] = (float)__shfl_sync(0xffffffffu, v[0], b, 4);
        }
        return;
    }
    bool high = threadIdx.x & 2, odd = threadIdx.x & 1;
    int a0 = v[0], a1 = v[1 % R], a2 = v[2 % R], a3 = v[3 % R];
    int other0 = from_quad(high ? a0 : a2, 2), other1 = from_quad(high ? a1 : a3, 2);
    int low0 = high ? other0 : a0, low1 = high ? other1 : a1;   /* from threads 0, 1 */
    int high0 = high ? a2 : other0, high1 = high ? a3 : other1; /* from threads 2, 3 */
    int low = from_quad(odd ? low0 : low1, 1), up = from_quad(odd ? high0 : high1, 1);
    to[0] = (float)(odd ? low : low0);
    to[1] = (float)(odd ? low1 : low);
    to[2] = (float)(odd ? up : high0);
    to[3] = (float)(odd ? high1 : up);
}

/* s of the segment and a row: of row threadIdx.x % 4 where there are several. */
template <int TYPE, unsigned R>
static __device__ __forceinline__ float segment_sum(const vv_group &g, const group_dots (&dots)[R],
                                                    const vv_planes &x, unsigned row,
                                                    unsigned segment) {
    using f = vv_codes::of<TYPE>;
    unsigned width = (unsigned)x.width;
    int first[R], second[R];
    VV_UNROLL
    for (unsigned r = 0; r < R; r++) {
        first[r] = dots[r].first;
        second[r] = dots[r].second;
    }
    if (f::SUPER) {
        float scale = x.coarse_scale[(size_t)row * ((width + 127) / 128) + segment];
        float s = (g.d * scale) * (float)add_quad(first);
        return f::OFFSET ? fmaf(-(g.second * scale), (float)add_quad(second), s) : s;
    }
    const float *scales = x.fine_scale + (size_t)row * (width / 32) + 4 * segment;
    float v[4], w[4] = {}, scale[4];
    VV_UNROLL
    for (unsigned b = 0; b < 4; b++) {
        bool here = 4 * segment + b < width / 32;
        scale[b] = here ? scales[b] : 0.0f;
        if (f::OFFSET) {
            const short2 *sums = reinterpret_cast<const short2 *>(
                x.fine_sum16 + ((size_t)row * width + 128 * segment) / 16);
            short2 sum = here ? sums[b] : short2{};
            w[b] = (float)(sum.x + sum.y);
        }
    }
    spread_quad(first, v);
    if (f::TWO_STEPS) {
        spread_quad(second, w);
    }
    float s = 0.0f;
    VV_UNROLL
    for (int b = 0; b < 4; b++) {
        s = fmaf(of_quad(g.d, b) * scale[b], v[b], s);
        if (f::TWO_STEPS || f::OFFSET) {
            s = fmaf(of_quad(g.second, b) * scale[b], w[b], s);
        }
    }
    return s;
}

/* All segments of the block's slots, whose weights are held. `sum` [slots][R][stride]. */
template <int TYPE, unsigned R>
static __device__ __forceinline__ void some_rows(const vv_product_job &job, const place &at,
                                                 const rows_in_hand<R> &rows, const uint8_t *held,
                                                 float *sum) {
    unsigned slot = threadIdx.x / at.lanes, sub = threadIdx.x % at.lanes;
    const uint8_t *weights = held_row(at, held, slot);
    unsigned width = (unsigned)job.x.width, groups = width / 32;
    unsigned mine = R == 1 ? 0 : threadIdx.x % 4, row = rows.x(mine < rows.count ? mine : 0);
    bool writes = slot < at.used && (R == 1 ? sub % 4 == 0 : mine < rows.count);
    VV_UNROLL_BY(R == 1 ? 2 : 1)
    for (unsigned first = 0; first < at.segments * 4; first += at.lanes) {
        unsigned k = first + sub, segment = k / 4 < at.segments ? k / 4 : 0;
        bool here = k < groups;
        vv_group g;
        vv_unpack_group<TYPE>(weights, width, here ? k : 0, g);
        if (!here && !vv_codes::of<TYPE>::SUPER) {
            g.d = g.second = 0.0f; /* the row ends within the segment */
        }
        group_dots dots[R] = {};
        VV_UNROLL
        for (unsigned r = 0; r < R; r++) {
            if (here && r < rows.count) {
                dots[r] = multiply<TYPE>(g, job.x, rows.x(r), k);
            }
        }
        float s = segment_sum<TYPE>(g, dots, job.x, row, segment);
        if (writes && k / 4 < at.segments) {
            sum[(slot * R + mine) * at.stride + segment] = s;
        }
    }
}

} // namespace vv_products
