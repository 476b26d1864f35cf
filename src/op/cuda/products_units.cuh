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
 * Beside a row of activations: [0..3] each group's scale; [4..7] the sums of its halves (16 bits
 * each); [8] a coarse plane's scale.
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

/*
 * Two groups of a row's segment. They are fetched before what is multiplied meanwhile, and decoded
 * after it: codes that were decoded at once would have to be waited for.
 */
template <int TYPE> struct unit {
    const uint8_t *row;
    unsigned width, half;

    /* Asks for the bytes of a segment, into the first cache or the second. */
    template <bool NEAR> VV_DEVICE void fetch(unsigned segment) const {
        constexpr unsigned values = vv_codes::of<TYPE>::VALUES;
        unsigned value = 128 * segment + 64 * half;
        if (value < width) {
            const uint8_t *code = row + (size_t)value * vv_split<TYPE>::CODES / values;
            const uint8_t *header = row + (size_t)(width / values) * vv_split<TYPE>::CODES +
                                    (size_t)(value / values) * vv_split<TYPE>::HEADER;
            vv_prefetch<NEAR>(code);
            vv_prefetch<NEAR>(header);
        }
    }
    VV_DEVICE void stage(unsigned segment, staged_row &to) const {
        unsigned k = 4 * segment + 2 * half, groups = width / 32;
        const bool here[2] = {k < groups, k + 1 < groups};
        unsigned first = here[0] ? k : 0;
        unsigned next = first + (vv_codes::of<TYPE>::VALUES > 32 || here[1]);
        vv_group g[2];
        vv_unpack_group<TYPE>(row, width, first, g[0]);
        vv_unpack_group<TYPE>(row, width, next, g[1]);
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

/* Starts to copy a segment of `count` rows of activations to staged rows, by `threads` threads;
 * values that aren't there become 0. Other blocks read the same rows: they go through the first
 * cache, as the second one's few lines of them would be asked by all processors at once. */
template <int TYPE, typename ROW_OF>
static __device__ __forceinline__ void copy_segment(const vv_planes &x, unsigned segment,
                                                    staged_row *to, unsigned count, unsigned thread,
                                                    unsigned threads, ROW_OF row_of) {
    using f = vv_codes::of<TYPE>;
    const int8_t *q = f::SUPER ? x.coarse_q : x.fine_q;
    const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
    unsigned width = (unsigned)x.width, groups = width / 32;
    for (unsigned i = thread; i < count * 8; i += threads) {
        unsigned r = i / 8, value = 128 * segment + 16 * (i % 8);
        bool here = value < width;
        vv_copy_async<16, true>(to[r].code + 16 * (i % 8),
                                q + (size_t)row_of(r) * width + (here ? value : 0), here ? 16 : 0);
    }
    for (unsigned i = thread; i < count * 4; i += threads) {
        unsigned r = i / 4, k = 4 * segment + i % 4;
        int real = k < groups ? 4 : 0;
        size_t at = (size_t)row_of(r) * groups + (real ? k : 0);
        if (!f::SUPER) {
            vv_copy_async<4>(&to[r].side[i % 4], x.fine_scale + at, real);
        }
        if (f::OFFSET) {
            vv_copy_async<4>(&to[r].side[4 + i % 4], sum16 + 2 * at, real);
        }
        if (f::SUPER && i % 4 == 0) {
            size_t scale = (size_t)row_of(r) * ((width + 127) / 128) + segment;
            vv_copy_async<4>(&to[r].side[8], x.coarse_scale + scale);
        }
    }
    vv_copy_commit();
}

/* Of a row of activations, a group's sum; a word of two halves of it. */
static __device__ __forceinline__ float group_sum(uint32_t sums) {
    return (float)((int)(int16_t)sums + ((int)sums >> 16));
}
static __device__ __forceinline__ uint32_t sums_as_halves(uint32_t sums) {
    return pack_halves((int16_t)sums, (int)sums >> 16);
}

/* The fragments of group j of two tiles of 8 staged columns. */
static __device__ __forceinline__ void load_two(const staged_row *columns, unsigned j,
                                                unsigned (&b)[2][2]) {
    unsigned lane = threadIdx.x % 32, to[4];
    vv_load_matrix(to, columns[lane % 8 + 8 * (lane / 16)].code + 32 * j + 16 * (lane / 8 % 2));
    b[0][0] = to[0], b[0][1] = to[1];
    b[1][0] = to[2], b[1][1] = to[3];
}

/* What a lane has of the columns 2t and 2t + 1 in a group. */
struct columns {
    float scale[2], sum[2];
};
template <int TYPE>
static __device__ __forceinline__ columns columns_of(const staged_row *x, unsigned j) {
    columns c = {};
    if (!vv_codes::of<TYPE>::SUPER) {
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t *side = x[2 * (threadIdx.x % 4) + i].side;
            c.scale[i] = vv_from_bits(side[j]);
            c.sum[i] = vv_codes::of<TYPE>::OFFSET ? group_sum(side[4 + j]) : 0.0f;
        }
    }
    return c;
}

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
 * The end of a super-block format's segment, for the staged rows `weight` [16] and `x` [8]. J is a
 * product of depth 8 of halves, all exact (docs/arithmetic.md, 3.3).
 */
template <int TYPE>
static __device__ __forceinline__ void end_segment(const staged_row *weight, const staged_row *x,
                                                   running &r) {
    using f = vv_codes::of<TYPE>;
    if (!f::SUPER) {
        return;
    }
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t *low = weight[g].side, *high = weight[g + 8].side;
    float j[4] = {};
    if (f::OFFSET) {
        const unsigned a[2] = {low[4 + t], high[4 + t]}, b[1] = {sums_as_halves(x[g].side[4 + t])};
        vv_mma_m16n8k8_f16(j, a, b);
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t *row = i < 2 ? low : high;
        float scale = vv_from_bits(x[2 * t + i % 2].side[8]);
        float s = (vv_from_bits(row[8]) * scale) * (float)r.i[i];
        r.s[i] = f::OFFSET ? fmaf(-(vv_from_bits(row[9]) * scale), j[i], s) : s;
    }
}

} // namespace vv_products
