/*
 * What tiles are made of: weights as they lie in shared memory, raw and decoded; products of 16
 * weight rows and 8 rows of activations.
 *
 * Decoded weights are signed bytes, such that integers of a segment are put together in as few
 * instructions as a format allows. That differs (docs/arithmetic.md, 3.3); |x| <= 127 throughout:
 *
 *   BLOCKS   a product for each scale, then the contract's fma. |dot| <= 520,192 < 2^22.
 *   FOLDED   sub-scale times weight is a signed byte: one product for the segment. Q1_0, TQ1_0,
 *            TQ2_0: the sub-scale is 1. Q2_K: 0..45. Q3_K: -4..3 times -32..31 is -124..128, so the
 *            negative is taken (-128..124), and -d: no rounding sees the difference.
 *   SCALED   a product for each 32 values, times their sub-scale, added as integers.
 *   SPLIT    where sub-scales change every 16 values: sub-scale times weight = 128 hi + lo, with
 *            0 <= lo <= 127, |hi| <= 32: the products with hi, times 128, then those with lo, in
 *            one integer, which no format brings beyond 66,584,576.
 */
#pragma once
#include "op/cuda/products_place.cuh"

namespace vv_products {

constexpr unsigned CODE_BYTES = 128, UNIT_ROWS = 16, UNIT_COLUMNS = 8;

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
    static constexpr bool DIRECT = TYPE == VV_TYPE_Q8_0, RAGGED = VALUES < 128;
    static constexpr int CODE_COPY = CODES % 16 ? 8 : 16;
    static constexpr int HEAD_COPY = HEADS % 16 == 0 ? 16 : HEADS % 8 == 0 ? 8 : 4;
    /* Odd in units of 16, so that neighbouring rows lie in different banks. */
    static constexpr unsigned CODE_STRIDE = ((CODES + 15) / 16 | 1) * 16;
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
    VV_DEVICE const uint32_t *words(unsigned at) const {
        return reinterpret_cast<const uint32_t *>(four + at);
    }
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

/* Of a row of activations, a group's sum; a word of two halves of it. */
static __device__ __forceinline__ float group_sum(uint32_t sums) {
    return (float)((int)(int16_t)sums + ((int)sums >> 16));
}
static __device__ __forceinline__ uint32_t sums_as_halves(uint32_t sums) {
    return pack_halves((int16_t)sums, (int)sums >> 16);
}

/* A group's two sums of activations as its format multiplies them. */
template <int TYPE> static __device__ __forceinline__ uint32_t sum_word(uint32_t sums) {
    return vv_codes::of<TYPE>::SUPER ? sums_as_halves(sums) : vv_bits(group_sum(sums));
}

/* ---- products ---- */

/* A tile's running values of a segment: integers of a super-block format, or s. */
template <int TYPE> struct running_tile {
    int i[4];
    float s[4];
};

/* An integer below 2^22 that was added to these bits is a float after a subtraction. */
constexpr int FLOAT_START = 0x4B400000;
static __device__ __forceinline__ float started(int sum) {
    return vv_from_bits((uint32_t)sum) - 12582912.0f;
}
#define VV_STARTED                                                                                 \
    { FLOAT_START, FLOAT_START, FLOAT_START, FLOAT_START }

/* What lies beside a tile's rows in a group: of the weight rows g and g + 8, of the rows of
 * activations 2t and 2t + 1. */
struct beside_rows {
    uint32_t first[2], second[2];
};
struct beside_columns {
    float scale[2], sum[2];
};
template <int TYPE>
static __device__ __forceinline__ beside_rows rows_beside(const weight_sides<TYPE> *side,
                                                          unsigned j) {
    using sides = weight_sides<TYPE>;
    beside_rows r = {};
    VV_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        const sides &mine = side[threadIdx.x % 32 / 4 + 8 * i];
        if (sides::FIRST) {
            r.first[i] = mine.words(0)[j];
        }
        if (sides::SECOND && WAY<TYPE> == BLOCKS) {
            r.second[i] = mine.words(sides::SECOND_AT)[j];
        }
    }
    return r;
}
/* `scales`, `sums`: four words for each row of activations. */
template <int TYPE>
static __device__ __forceinline__ beside_columns columns_beside(const float *scales,
                                                                const uint4 *sums, unsigned j) {
    beside_columns c = {};
    VV_UNROLL
    for (unsigned i = 0; i < 2 && WAY<TYPE> == BLOCKS; i++) {
        unsigned mine = 2 * (threadIdx.x % 4) + i;
        c.scale[i] = scales[4 * mine + j];
        if (vv_codes::of<TYPE>::OFFSET) {
            c.sum[i] = reinterpret_cast<const float *>(sums + mine)[j];
        }
    }
    return c;
}

static __device__ __forceinline__ void
halves_of_group(const unsigned (&a)[4], const unsigned (&b)[2], int (&low)[4], int (&high)[4]) {
    const unsigned a0[2] = {a[0], a[1]}, a1[2] = {a[2], a[3]}, b0[1] = {b[0]}, b1[1] = {b[1]};
    vv_mma_m16n8k16_s8(low, a0, b0);
    vv_mma_m16n8k16_s8(high, a1, b1);
}

/* A group of a tile: fragments a and b of its codes. */
template <int TYPE>
static __device__ __forceinline__ void
multiply_group(const unsigned (&a)[4], const unsigned (&b)[2], const beside_rows &r,
               const beside_columns &c, running_tile<TYPE> &to) {
    using f = vv_codes::of<TYPE>;
    if (WAY<TYPE> == FOLDED || WAY<TYPE> == SPLIT) {
        vv_mma_m16n8k32_s8(to.i, a, b);
        return;
    }
    if (WAY<TYPE> == SCALED) {
        int dot[4] = {};
        vv_mma_m16n8k32_s8(dot, a, b);
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            to.i[i] += (int)r.first[i / 2] * dot[i];
        }
        return;
    }
    int low[4] = VV_STARTED, high[4] = VV_STARTED;
    if (f::TWO_STEPS) {
        halves_of_group(a, b, low, high);
    } else {
        vv_mma_m16n8k32_s8(low, a, b);
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        float first = vv_from_bits(r.first[i / 2]) * c.scale[i % 2];
        float second = vv_from_bits(r.second[i / 2]) * c.scale[i % 2];
        to.s[i] = fmaf(first, started(low[i]), to.s[i]);
        if (f::TWO_STEPS || f::OFFSET) {
            to.s[i] = fmaf(second, f::OFFSET ? c.sum[i % 2] : started(high[i]), to.s[i]);
        }
    }
}

/* The end of a segment of a super-block format for the staged rows `side` [16], `scales` [8],
 * `sums` [8]. J is a product of depth 8 of halves, all exact: at most 1,024,128. */
template <int TYPE>
static __device__ __forceinline__ void end_integers(const weight_sides<TYPE> *side,
                                                    const float *scales, const uint4 *sums,
                                                    running_tile<TYPE> &r) {
    using f = vv_codes::of<TYPE>;
    using sides = weight_sides<TYPE>;
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float j[4] = {};
    if (f::OFFSET) {
        const unsigned a[2] = {side[g].words(sides::SECOND_AT)[t],
                               side[g + 8].words(sides::SECOND_AT)[t]};
        const unsigned b[1] = {reinterpret_cast<const uint32_t *>(sums + g)[t]};
        vv_mma_m16n8k8_f16(j, a, b);
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t *floats = side[g + 8 * (i / 2)].words(sides::FLOATS_AT);
        float scale = scales[2 * t + i % 2];
        float s = (vv_from_bits(floats[0]) * scale) * (float)r.i[i];
        r.s[i] = f::OFFSET ? fmaf(-(vv_from_bits(floats[1]) * scale), j[i], s) : s;
    }
}

/* The fragment of 16 rows of codes that begin at `rows`, and of two tiles of 8. */
static __device__ __forceinline__ void load_rows(const uint8_t *rows, unsigned (&a)[4]) {
    unsigned lane = threadIdx.x % 32;
    vv_load_matrix(a, rows + lane % 16 * CODE_STRIDE + 16 * (lane / 16));
}
static __device__ __forceinline__ void load_columns(const uint8_t *rows, unsigned (&b)[2][2]) {
    unsigned lane = threadIdx.x % 32, to[4];
    vv_load_matrix(to, rows + (lane % 8 + 8 * (lane / 16)) * CODE_STRIDE + 16 * (lane / 8 % 2));
    b[0][0] = to[0], b[0][1] = to[1];
    b[1][0] = to[2], b[1][1] = to[3];
}

} // namespace vv_products
