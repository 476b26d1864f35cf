/*
 * Up to eight rows of activations. A thread multiplies a segment of a weight row with all of them,
 * decoding each weight once; neighbouring threads take the same segment of neighbouring weight
 * rows, whose activations are the same and whose weights lie in different banks. Each segment's s
 * is kept in shared memory, and one thread adds a row's in ascending order.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

/* A group's activations. */
struct activations {
    int q[8];
    int sum[2]; /* of values 0..15, 16..31 */
};

template <bool SUPER, bool SUMS>
static __device__ __forceinline__ void load(const vv_planes &x, unsigned row, unsigned k,
                                            activations &a) {
    size_t at = (size_t)row * (unsigned)x.width + 32 * k;
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
}

/* The products of a group's halves. */
template <int TYPE>
static __device__ __forceinline__ int2 dots_of(const vv_group &g, const activations &a) {
    constexpr int bias = vv_codes::of<TYPE>::BIAS;
    int2 dot = make_int2(bias ? -bias * a.sum[0] : 0, bias ? -bias * a.sum[1] : 0);
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        dot.x = __dp4a(g.w[i], a.q[i], dot.x);
        dot.y = __dp4a(g.w[4 + i], a.q[4 + i], dot.y);
    }
    return dot;
}

/* The integers of a segment of a super-block format. */
struct super_sums {
    int i, j;
};

/* What a group adds to them. */
template <int TYPE>
static __device__ __forceinline__ void add_super(const vv_group &g, const activations &a,
                                                 super_sums &to) {
    using f = vv_codes::of<TYPE>;
    int2 dot = dots_of<TYPE>(g, a);
    to.i += f::SUB16 ? g.scale[0] * dot.x + g.scale[1] * dot.y : g.scale[0] * (dot.x + dot.y);
    if (f::OFFSET) {
        to.j += g.min[0] * a.sum[0] + g.min[1] * a.sum[1];
    }
}

/* A group's links of the chain of a block format. */
template <int TYPE>
static __device__ __forceinline__ float add_block(const vv_group &g, const activations &a,
                                                  float scale, float s) {
    using f = vv_codes::of<TYPE>;
    int2 dot = dots_of<TYPE>(g, a);
    float p = g.d * scale;
    if (f::TWO_STEPS) {
        s = fmaf(p, (float)dot.x, s);
        return fmaf(g.second * scale, (float)dot.y, s);
    }
    s = fmaf(p, (float)(dot.x + dot.y), s);
    return f::OFFSET ? fmaf(g.second * scale, (float)(a.sum[0] + a.sum[1]), s) : s;
}

/* A segment of a weight row and all rows in hand. WHOLE: no row ends within a segment; then nothing
 * hangs on conditions, and all that is fetched is fetched at once. */
template <int TYPE, bool WHOLE, unsigned R>
static __device__ __forceinline__ void
multiply_segment(const uint8_t *weights, unsigned segment, const vv_planes &x,
                 const rows_in_hand<R> &rows, float (&s)[R]) {
    using f = vv_codes::of<TYPE>;
    constexpr bool sums = f::BIAS != 0 || f::OFFSET;
    unsigned width = (unsigned)x.width, groups = width / 32;
    super_sums whole[R] = {};
    float d = 0.0f, second = 0.0f;
    VV_UNROLL
    for (unsigned b = 0; b < 4; b++) {
        unsigned k = 4 * segment + b;
        if (!WHOLE && k >= groups) {
            break;
        }
        vv_group g;
        vv_unpack_group<TYPE>(weights, width, k, g);
        d = g.d;
        second = g.second;
        VV_UNROLL
        for (unsigned r = 0; r < R; r++) {
            if (R > 1 && r >= rows.count) {
                break;
            }
            activations a;
            load<f::SUPER, sums>(x, rows.x(r), k, a);
            if (f::SUPER) {
                add_super<TYPE>(g, a, whole[r]);
            } else {
                float scale = x.fine_scale[(size_t)rows.x(r) * groups + k];
                s[r] = add_block<TYPE>(g, a, scale, s[r]);
            }
        }
    }
    VV_UNROLL
    for (unsigned r = 0; r < R && f::SUPER; r++) {
        float scale = x.coarse_scale[(size_t)rows.x(r) * ((width + 127) / 128) + segment];
        s[r] = (d * scale) * (float)whole[r].i;
        s[r] = f::OFFSET ? fmaf(-(second * scale), (float)whole[r].j, s[r]) : s[r];
    }
}

/* All segments of the block's slots, whose weights are held. `sum` [slots][R][stride]. */
template <int TYPE, bool WHOLE, unsigned R>
static __device__ __forceinline__ void multiply_held(const vv_product_job &job, const place &at,
                                                     const rows_in_hand<R> &rows,
                                                     const uint8_t *held, float *sum) {
    for (unsigned t = threadIdx.x; t < at.segments << at.shift; t += blockDim.x) {
        unsigned slot = t & ((1u << at.shift) - 1), segment = t >> at.shift;
        if (slot >= at.used) {
            continue;
        }
        float s[R] = {};
        multiply_segment<TYPE, WHOLE>(held_row(at, held, slot), segment, job.x, rows, s);
        VV_UNROLL
        for (unsigned r = 0; r < R; r++) {
            sum[(slot * R + r) * at.stride + segment] = s[r];
        }
    }
}

template <int TYPE, unsigned R>
static __device__ __forceinline__ void some_rows(const vv_product_job &job, const place &at,
                                                 const rows_in_hand<R> &rows, const uint8_t *held,
                                                 float *sum) {
    if (vv_codes::of<TYPE>::SUPER || job.x.width % 128 == 0) {
        multiply_held<TYPE, true>(job, at, rows, held, sum);
    } else {
        multiply_held<TYPE, false>(job, at, rows, held, sum);
    }
}

} // namespace vv_products
