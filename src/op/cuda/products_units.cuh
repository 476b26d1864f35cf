/*
 * Weights and activations as matrix units take them. Weight rows lie in shared memory as signed
 * bytes with what their groups state beside them; a group of 32 values is one step of the unit (two
 * of 16 where a sub-scale or a scale has 16 values), whose integers are then put together as the
 * contract says, 16 weight rows by 8 rows of activations a warp.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

constexpr unsigned CODE_BYTES = 128, SIDE_WORDS = 12, UNIT_ROWS = 16, UNIT_COLUMNS = 8;

/*
 * Beside a weight row's segment, words: [0..3] each group's scale: d, or the two sub-scales (16
 * bits each); [4..7] each group's offset or second scale, or its two minimums as halves; [8], [9]
 * a super-block's d and dmin.
 *
 * Beside a row of activations: [0..3] each group's scale; [4..7] each group's sum (float), or
 * the sums of its halves as halves; [8] a coarse plane's scale.
 *
 * A row's 176 bytes keep eight rows' sixteen bytes in different banks.
 */
struct staged_row {
    uint8_t code[CODE_BYTES];
    uint32_t side[SIDE_WORDS];
};

static __device__ __forceinline__ uint32_t pack_halves(int low, int high) {
    return (uint32_t)__half_as_ushort(__float2half_rn((float)low)) |
           (uint32_t)__half_as_ushort(__float2half_rn((float)high)) << 16;
}

/* Four codes as signed bytes: without BIAS. A code is below 128, so no byte carries. */
template <int TYPE> static __device__ __forceinline__ uint32_t signed_codes(int w) {
    constexpr int bias = vv_codes::of<TYPE>::BIAS;
    constexpr uint32_t ones = 0x01010101u;
    return bias ? ((uint32_t)w + (uint32_t)(128 - bias) * ones) ^ 128 * ones : (uint32_t)w;
}

/* Group `j` of a segment into a staged row; not `here`: zeros, which change no sum. */
template <int TYPE>
static __device__ __forceinline__ void stage_group(const vv_group &g, unsigned j, bool here,
                                                   staged_row &to) {
    using f = vv_codes::of<TYPE>;
    uint32_t w[8];
    VV_UNROLL
    for (int i = 0; i < 8; i++) {
        w[i] = here ? signed_codes<TYPE>(g.w[i]) : 0;
    }
    uint4 *code = reinterpret_cast<uint4 *>(to.code + 32 * j);
    code[0] = make_uint4(w[0], w[1], w[2], w[3]);
    code[1] = make_uint4(w[4], w[5], w[6], w[7]);
    if (f::SUPER) {
        to.side[j] = ((uint32_t)g.scale[0] & 0xffff) | (uint32_t)g.scale[1] << 16;
        if (f::OFFSET) {
            to.side[4 + j] = pack_halves(g.min[0], g.min[1]);
        }
        if (j == 0) {
            to.side[8] = vv_bits(g.d);
            to.side[9] = f::OFFSET ? vv_bits(g.second) : 0;
        }
        return;
    }
    to.side[j] = here ? vv_bits(g.d) : 0;
    if (f::OFFSET || f::TWO_STEPS) {
        to.side[4 + j] = here ? vv_bits(g.second) : 0;
    }
}

/* Two groups of a row's segment, from memory. */
template <int TYPE> struct unit {
    vv_group g[2];
    bool here[2];
    VV_DEVICE void take(const uint8_t *row, unsigned width, unsigned segment, unsigned half) {
        unsigned k = 4 * segment + 2 * half, groups = width / 32;
        here[0] = k < groups;
        here[1] = k + 1 < groups;
        unsigned first = here[0] ? k : 0;
        unsigned next = first + (vv_codes::of<TYPE>::VALUES > 32 || here[1]);
        vv_unpack_group<TYPE>(row, width, first, g[0]);
        vv_unpack_group<TYPE>(row, width, next, g[1]);
    }
    VV_DEVICE void stage(unsigned half, staged_row &to) const {
        stage_group<TYPE>(g[0], 2 * half, here[0], to);
        stage_group<TYPE>(g[1], 2 * half + 1, here[1], to);
    }
};

/* The fragment of 16 staged rows' group j: a[i] is of row g + 8·(i mod 2), values 16·(i / 2).. */
static __device__ __forceinline__ void load_codes(const staged_row *rows, unsigned j,
                                                  unsigned (&a)[4]) {
    unsigned lane = threadIdx.x % 32;
    vv_load_matrix(a, rows[lane % 16].code + 32 * j + 16 * (lane / 16));
}

/* What a lane has of the columns 2t and 2t + 1. */
struct columns {
    float scale[2], sum[2];
};

/* A tile's running values of a segment: integers of a super-block format, or s. */
struct running {
    int i[4];
    float s[4];
};

template <int TYPE> static __device__ __forceinline__ void begin_segment(running &r) {
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        r.i[i] = 0;
        r.s[i] = 0.0f;
    }
}

static __device__ __forceinline__ void
halves_of_group(const unsigned (&a)[4], const unsigned (&b)[2], int (&low)[4], int (&high)[4]) {
    const unsigned a0[2] = {a[0], a[1]}, a1[2] = {a[2], a[3]}, b0[1] = {b[0]}, b1[1] = {b[1]};
    vv_mma_m16n8k16_s8(low, a0, b0);
    vv_mma_m16n8k16_s8(high, a1, b1);
}

/* Group j: its codes' fragments a and b; `first`, `second`: the words [j] and [4 + j] beside the
 * weight rows g and g + 8. */
template <int TYPE>
static __device__ __forceinline__ void
add_group(const unsigned (&a)[4], const unsigned (&b)[2], const uint32_t (&first)[2],
          const uint32_t (&second)[2], const columns &c, running &r) {
    using f = vv_codes::of<TYPE>;
    int low[4] = {}, high[4] = {};
    if (f::SUB16 || f::TWO_STEPS) {
        halves_of_group(a, b, low, high);
    } else {
        vv_mma_m16n8k32_s8(low, a, b);
    }
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t one = first[i / 2], two = second[i / 2];
        if (f::SUPER) {
            r.i[i] += (int)(int16_t)one * low[i];
            if (f::SUB16) {
                r.i[i] += ((int)one >> 16) * high[i];
            }
            continue;
        }
        r.s[i] = fmaf(vv_from_bits(one) * c.scale[i % 2], (float)low[i], r.s[i]);
        if (f::TWO_STEPS) {
            r.s[i] = fmaf(vv_from_bits(two) * c.scale[i % 2], (float)high[i], r.s[i]);
        } else if (f::OFFSET) {
            r.s[i] = fmaf(vv_from_bits(two) * c.scale[i % 2], c.sum[i % 2], r.s[i]);
        }
    }
}

/*
 * The end of a super-block format's segment. `low`, `high`: beside the weight rows g and g + 8;
 * `sums`: the word [4 + t] beside the activations of column g; `scale`: of columns 2t and 2t + 1.
 * J is a product of depth 8 of halves, all exact (docs/arithmetic.md, 3.3).
 */
template <int TYPE>
static __device__ __forceinline__ void end_segment(const uint32_t *low, const uint32_t *high,
                                                   uint32_t sums, const float (&scale)[2],
                                                   running &r) {
    using f = vv_codes::of<TYPE>;
    if (!f::SUPER) {
        return;
    }
    float j[4] = {};
    if (f::OFFSET) {
        unsigned t = threadIdx.x % 4;
        const unsigned a[2] = {low[4 + t], high[4 + t]}, b[1] = {sums};
        vv_mma_m16n8k8_f16(j, a, b);
    }
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        const uint32_t *row = i < 2 ? low : high;
        float s = (vv_from_bits(row[8]) * scale[i % 2]) * (float)r.i[i];
        r.s[i] = f::OFFSET ? fmaf(-(vv_from_bits(row[9]) * scale[i % 2]), j[i], s) : s;
    }
}

} // namespace vv_products
