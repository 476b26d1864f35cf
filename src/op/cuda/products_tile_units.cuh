/*
 * What tiles are made of: weights as they lie in shared memory, raw and decoded; 16 weight rows and
 * 8 rows of activations of a segment as a warp holds them; their product.
 *
 * Decoded weights are signed bytes, such that integers of a segment are put together in as few
 * instructions as a format allows. That differs (docs/arithmetic.md, 3.3); |x| <= 127 throughout:
 *
 *   BLOCKS   a product for each scale, then the contract's fma. |dot| <= 520,192 < 2^22.
 *   FOLDED   sub-scale times weight is a signed byte: one product for the segment. Q1_0, TQ1_0,
 *            TQ2_0: the sub-scale is 1. Q2_K: 0..45. Q3_K: -4..3 times -32..31 is -124..128, so its
 *            negative is taken, and the negative d: no rounding sees the difference.
 *            |I| <= 2,080,768 < 2^22.
 *   SCALED   a product for each 32 values, times their sub-scale, added as integers.
 *   SPLIT    where sub-scales change every 16 values: sub-scale times weight = 128 hi + lo, with
 *            0 <= lo <= 127, |hi| <= 32, and a product for each: |L| <= 128·127·127 = 2,064,512,
 *            |H| <= 128·127·32 = 520,192, both below 2^22. 128 H + L by one fma is the rounding of
 *            the exact integer to nearest even, which is what (float)I is.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

enum way_of_integers { BLOCKS, FOLDED, SCALED, SPLIT };

static constexpr way_of_integers way_of(int type, bool super, bool sub16) {
    switch (type) {
    case VV_TYPE_Q1_0:
    case VV_TYPE_TQ1_0:
    case VV_TYPE_TQ2_0:
    case VV_TYPE_Q2_K:
    case VV_TYPE_Q3_K:
        return FOLDED;
    default:
        return !super ? BLOCKS : sub16 ? SPLIT : SCALED;
    }
}
template <int TYPE>
constexpr way_of_integers WAY = way_of(TYPE, vv_codes::of<TYPE>::SUPER, vv_codes::of<TYPE>::SUB16);
template <int TYPE> constexpr unsigned planes_of = WAY<TYPE> == SPLIT ? 2 : 1;

/* Rows of decoded codes: eight rows' sixteen bytes lie in different banks. */
constexpr unsigned CODE_STRIDE = CODE_BYTES + 16;

/*
 * Weights as they come: chunks of a segment, or of the two that share a block; codes, and headers
 * from the word on in which they begin. Where codes need no decoding they are copied to their
 * place.
 */
template <int TYPE> struct raw_form {
    static constexpr unsigned VALUES = vv_codes::of<TYPE>::VALUES;
    static constexpr unsigned PARTS = VALUES > 128 ? VALUES / 128 : 1,
                              BLOCKS = 128 * PARTS / VALUES;
    static constexpr unsigned CODES = vv_split<TYPE>::CODES * BLOCKS;
    static constexpr unsigned HEADS = vv_split<TYPE>::HEADER * BLOCKS;
    static constexpr bool DIRECT = TYPE == VV_TYPE_Q8_0;
    static constexpr int CODE_COPY = CODES % 16 ? 8 : 16;
    static constexpr int HEAD_COPY = HEADS % 16 == 0 ? 16 : HEADS % 8 == 0 ? 8 : 4;
    static constexpr unsigned CODE_STRIDE = (CODES + 15) / 16 * 16;
    static constexpr unsigned HEAD_STRIDE = HEADS % 4 ? HEADS + 2 : HEADS;
    static_assert(CODES % 8 == 0 && HEADS % 2 == 0, "what copies and their words are made for");
};

/* Beside a decoded row: four words each of what its format has. */
template <int TYPE> struct weight_sides {
    using f = vv_codes::of<TYPE>;
    /* Each group's d, or sub-scale; its offset, second d, or two minimums as halves. */
    static constexpr bool FIRST = !f::SUPER || WAY<TYPE> == SCALED;
    static constexpr bool SECOND = f::OFFSET || f::TWO_STEPS;
    /* Last, of a super-block: d, dmin. */
    static constexpr unsigned SECOND_AT = FIRST, FLOATS_AT = FIRST + SECOND;
    uint4 four[FIRST + SECOND + f::SUPER];

    VV_DEVICE uint32_t *words(unsigned at) {
        return reinterpret_cast<uint32_t *>(four + at);
    }
};

/* Four of `codes` (bytes, `bias` too large), each times `scale` and then `plus`, in two words of
 * two: bytes 0 and 2, bytes 1 and 3. No result is negative or above 65,535. */
static __device__ __forceinline__ void scale_codes(uint32_t codes, int bias, int scale, int plus,
                                                   uint32_t (&to)[2]) {
    uint32_t start = (uint32_t)(plus - bias * scale) * 0x00010001u;
    to[0] = (codes & 0x00ff00ffu) * (uint32_t)scale + start;
    to[1] = (codes >> 8 & 0x00ff00ffu) * (uint32_t)scale + start;
}

/* Four codes as their format gives them to unsigned bytes; `bias`: of these. */
template <int TYPE> static __device__ __forceinline__ uint32_t unsigned_codes(int w) {
    return vv_codes::of<TYPE>::BIAS || TYPE == VV_TYPE_Q2_K ? (uint32_t)w
                                                            : (uint32_t)w ^ 0x80808080u;
}
template <int TYPE>
constexpr int unsigned_bias =
    vv_codes::of<TYPE>::BIAS || TYPE == VV_TYPE_Q2_K ? vv_codes::of<TYPE>::BIAS : 128;

/* Word i of a group: its codes, or the bytes of codes times sub-scale. */
template <int TYPE>
static __device__ __forceinline__ void decode_word(const vv_group &g, int i, uint32_t &low,
                                                   uint32_t &high) {
    constexpr bool minus = TYPE == VV_TYPE_Q3_K, scales = vv_codes::of<TYPE>::SUB16;
    uint32_t two[2];
    int scale = minus ? -g.scale[i / 4] : g.scale[i / 4];
    if (!scales) {
        low = signed_codes<TYPE>(g.w[i]);
    } else if (WAY<TYPE> == FOLDED) {
        scale_codes(unsigned_codes<TYPE>(g.w[i]), unsigned_bias<TYPE>, scale, 128, two);
        low = __byte_perm(two[0], two[1], 0x6240) ^ 0x80808080u;
    } else {
        scale_codes(unsigned_codes<TYPE>(g.w[i]), unsigned_bias<TYPE>, scale, 128 * 128, two);
        low = __byte_perm(two[0], two[1], 0x6240) & 0x7f7f7f7fu;
        high = __byte_perm(two[0] << 1, two[1] << 1, 0x7351) ^ 0x80808080u;
    }
}

/* A group into the rows of codes, and beside them. */
template <int TYPE>
static __device__ __forceinline__ void place_group(const vv_group &g, unsigned j, uint8_t *low,
                                                   uint8_t *high, weight_sides<TYPE> &side) {
    using f = vv_codes::of<TYPE>;
    using sides = weight_sides<TYPE>;
    uint32_t w[2][8];
    VV_UNROLL
    for (int i = 0; i < 8 && !raw_form<TYPE>::DIRECT; i++) {
        decode_word<TYPE>(g, i, w[0][i], w[planes_of<TYPE> - 1][i]);
    }
    VV_UNROLL
    for (unsigned plane = 0; plane < planes_of<TYPE> && !raw_form<TYPE>::DIRECT; plane++) {
        uint4 *to = reinterpret_cast<uint4 *>((plane ? high : low) + 32 * j);
        const uint32_t(&v)[8] = w[plane];
        to[0] = make_uint4(v[0], v[1], v[2], v[3]);
        to[1] = make_uint4(v[4], v[5], v[6], v[7]);
    }
    if (!f::SUPER) {
        side.words(0)[j] = vv_bits(g.d);
    } else if (sides::FIRST) {
        side.words(0)[j] = (uint32_t)g.scale[0];
    }
    if (sides::SECOND) {
        side.words(sides::SECOND_AT)[j] =
            f::SUPER ? pack_halves(g.min[0], g.min[1]) : vv_bits(g.second);
    }
    if (f::SUPER && j == 0) {
        side.words(sides::FLOATS_AT)[0] = vv_bits(TYPE == VV_TYPE_Q3_K ? -g.d : g.d);
        side.words(sides::FLOATS_AT)[1] = f::OFFSET ? vv_bits(g.second) : 0;
    }
}

/* Groups j and j + 1 of a segment, the chunk's `part`. */
template <int TYPE>
static __device__ __forceinline__ void decode_two(const uint8_t *codes, const uint8_t *heads,
                                                  unsigned part, unsigned j, uint8_t *low,
                                                  uint8_t *high, weight_sides<TYPE> &side) {
    using f = vv_codes::of<TYPE>;
    constexpr unsigned groups = f::VALUES / 32;
    vv_group g[2]; /* both before either is placed: they may share bytes */
    VV_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        unsigned k = 4 * part + j + i, block = k / groups;
        const uint8_t *head = heads + block * vv_split<TYPE>::HEADER;
        if (raw_form<TYPE>::DIRECT) {
            g[i].d = vv_codes::half_at(head);
        } else {
            f::unpack(codes + block * vv_split<TYPE>::CODES, head, (int)(k % groups), g[i]);
        }
    }
    place_group<TYPE>(g[0], j, low, high, side);
    place_group<TYPE>(g[1], j + 1, low, high, side);
}

/* A group's two sums of activations as its format multiplies them. */
template <int TYPE> static __device__ __forceinline__ uint32_t sum_word(uint32_t sums) {
    return vv_codes::of<TYPE>::SUPER ? sums_as_halves(sums) : vv_bits(group_sum(sums));
}

/* ---- what a warp holds ---- */

static __device__ __forceinline__ void take_four(uint4 from, float (&to)[4]) {
    to[0] = vv_from_bits(from.x);
    to[1] = vv_from_bits(from.y);
    to[2] = vv_from_bits(from.z);
    to[3] = vv_from_bits(from.w);
}

/* Sixteen weight rows of a segment; a lane has what is beside the rows g and g + 8. */
template <int TYPE> struct row_tile {
    using f = vv_codes::of<TYPE>;
    using sides = weight_sides<TYPE>;
    unsigned code[planes_of<TYPE>][4][4];
    float first[2][4], second[2][4]; /* by group; sub-scales are integers' bits */
    uint32_t min[2];
    float d[2], dmin[2];

    VV_DEVICE void load(const uint8_t *low, const uint8_t *high, const sides *side) {
        unsigned lane = threadIdx.x % 32, at = lane % 16 * CODE_STRIDE + 16 * (lane / 16);
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            VV_UNROLL
            for (unsigned plane = 0; plane < planes_of<TYPE>; plane++) {
                vv_load_matrix(code[plane][j], (plane ? high : low) + at + 32 * j);
            }
        }
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            const uint4 *mine = side[lane / 4 + 8 * i].four;
            if (sides::FIRST) {
                take_four(mine[0], first[i]);
            }
            if (sides::SECOND && !f::SUPER) {
                take_four(mine[sides::SECOND_AT], second[i]);
            }
            if (f::SUPER) {
                const float2 floats = *reinterpret_cast<const float2 *>(mine + sides::FLOATS_AT);
                d[i] = floats.x;
                dmin[i] = floats.y;
                min[i] = f::OFFSET ? reinterpret_cast<const uint32_t *>(
                                         mine + sides::SECOND_AT * f::OFFSET)[lane % 4]
                                   : 0;
            }
        }
    }
};

/* Eight rows of activations; a lane has what is beside the rows 2t and 2t + 1. */
template <int TYPE> struct column_tile {
    using f = vv_codes::of<TYPE>;
    static constexpr unsigned SCALES = f::SUPER ? 1 : 4;
    unsigned code[4][2];
    float scale[2][SCALES], sum[2][4];
    uint32_t halves; /* super: word t of row g's sums */

    /* `scales` [8][SCALES], `sums` [8] */
    VV_DEVICE void load(const uint8_t *codes, const float *scales, const uint4 *sums) {
        unsigned lane = threadIdx.x % 32, t = lane % 4;
        VV_UNROLL
        for (unsigned j = 0; j < 4; j += 2) {
            unsigned b[4];
            vv_load_matrix(b, codes + lane % 8 * CODE_STRIDE + 16 * (lane / 8) + 32 * j);
            code[j][0] = b[0], code[j][1] = b[1];
            code[j + 1][0] = b[2], code[j + 1][1] = b[3];
        }
        if (f::SUPER) {
            const float2 two = *reinterpret_cast<const float2 *>(scales + 2 * t);
            scale[0][0] = two.x, scale[1][0] = two.y;
            halves = f::OFFSET ? reinterpret_cast<const uint32_t *>(sums + lane / 4)[t] : 0;
            return;
        }
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            const uint4 four = reinterpret_cast<const uint4 *>(scales)[2 * t + i];
            float all[4];
            take_four(four, all);
            for (unsigned j = 0; j < SCALES; j++) {
                scale[i][j] = all[j];
            }
            if (f::OFFSET) {
                take_four(sums[2 * t + i], sum[i]);
            }
        }
    }
};

/* An integer below 2^22 that was added to these bits is a float after a subtraction. */
constexpr int FLOAT_START = 0x4B400000;
static __device__ __forceinline__ float started(int sum) {
    return vv_from_bits((uint32_t)sum) - 12582912.0f;
}
#define VV_STARTED                                                                                 \
    { FLOAT_START, FLOAT_START, FLOAT_START, FLOAT_START }

/* ---- products ---- */

template <int TYPE>
static __device__ __forceinline__ void multiply_blocks(const row_tile<TYPE> &r,
                                                       const column_tile<TYPE> &c, float (&s)[4]) {
    using f = vv_codes::of<TYPE>;
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        int low[4] = VV_STARTED, high[4] = VV_STARTED;
        if (f::TWO_STEPS) {
            halves_of_group(r.code[0][j], c.code[j], low, high);
        } else {
            vv_mma_m16n8k32_s8(low, r.code[0][j], c.code[j]);
        }
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            float scale = c.scale[i % 2][j % column_tile<TYPE>::SCALES];
            s[i] = fmaf(r.first[i / 2][j] * scale, started(low[i]), s[i]);
            if (f::TWO_STEPS) {
                s[i] = fmaf(r.second[i / 2][j] * scale, started(high[i]), s[i]);
            } else if (f::OFFSET) {
                s[i] = fmaf(r.second[i / 2][j] * scale, c.sum[i % 2][j], s[i]);
            }
        }
    }
}

/* (float)I */
template <int TYPE>
static __device__ __forceinline__ void
multiply_integers(const row_tile<TYPE> &r, const column_tile<TYPE> &c, float (&to)[4]) {
    int low[4] = VV_STARTED, high[4] = VV_STARTED, sum[4] = {};
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        if (WAY<TYPE> == SCALED) {
            int dot[4] = {};
            vv_mma_m16n8k32_s8(dot, r.code[0][j], c.code[j]);
            VV_UNROLL
            for (unsigned i = 0; i < 4; i++) {
                sum[i] += (int)vv_bits(r.first[i / 2][j]) * dot[i];
            }
            continue;
        }
        vv_mma_m16n8k32_s8(low, r.code[0][j], c.code[j]);
        if (WAY<TYPE> == SPLIT) {
            vv_mma_m16n8k32_s8(high, r.code[planes_of<TYPE> - 1][j], c.code[j]);
        }
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        to[i] = WAY<TYPE> == SCALED  ? (float)sum[i]
                : WAY<TYPE> == SPLIT ? fmaf(128.0f, started(high[i]), started(low[i]))
                                     : started(low[i]);
    }
}

/* Adds a segment. */
template <int TYPE>
static __device__ __forceinline__ void
multiply_tile(const row_tile<TYPE> &r, const column_tile<TYPE> &c, float (&total)[4]) {
    using f = vv_codes::of<TYPE>;
    float s[4] = {};
    if (!f::SUPER) {
        multiply_blocks<TYPE>(r, c, s);
    } else {
        float whole[4], offset[4] = {};
        multiply_integers<TYPE>(r, c, whole);
        if (f::OFFSET) { /* J, of halves, exact: at most 1,024,128 */
            const unsigned a[2] = {r.min[0], r.min[1]}, b[1] = {c.halves};
            vv_mma_m16n8k8_f16(offset, a, b);
        }
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            float scale = c.scale[i % 2][0];
            s[i] = (r.d[i / 2] * scale) * whole[i];
            s[i] = f::OFFSET ? fmaf(-(r.dmin[i / 2] * scale), offset[i], s[i]) : s[i];
        }
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        total[i] += s[i];
    }
}

} // namespace vv_products
