/*
 * What one lane of the matrix unit takes of a weight row's segment: of each group of 32 values the
 * words t and 4 + t (t = lane mod 4), decoded in registers from the row's bytes as they lie in
 * shared memory; and what lies beside them. No byte of a decoded weight is stored: a warp that has
 * rows of its own decodes each once, for all its rows of activations.
 */
#pragma once
#include "op/cuda/products_units.cuh"

namespace vv_products {

/* A row's segment. */
template <int TYPE> struct lane_row {
    using f = vv_codes::of<TYPE>;
    uint32_t w[planes_of<TYPE>][4][2]; /* plane 0 the low one */
    uint32_t scales;                   /* SCALED: a byte for each group */
    uint32_t least; /* super with an offset: the two minimums of group t, as halves */
    float d[f::SUPER ? 1 : 4], second[f::SUPER ? 1 : 4];
};

static __device__ __forceinline__ uint32_t word_at(const uint8_t *at) {
    return *reinterpret_cast<const uint32_t *>(at);
}
static __device__ __forceinline__ int byte_of(uint32_t bytes, unsigned i) {
    return (int)__byte_perm(bytes, 0, 0x4440 + i);
}
static __device__ __forceinline__ float low_half(uint32_t w) {
    return __half2float(__ushort_as_half((unsigned short)(w & 0xffff)));
}
static __device__ __forceinline__ float high_half(uint32_t w) {
    return __half2float(__ushort_as_half((unsigned short)(w >> 16)));
}

/* lane_codes<TYPE>::take(codes, head, part, t, row): of the chunk's `part`. */
template <int TYPE> struct lane_codes {
    static constexpr bool HERE = false; /* other formats have none */
};

/* Sixteen bytes a group: low nibbles, then high ones. */
static __device__ __forceinline__ void two_nibbles(uint32_t q, uint32_t (&w)[2]) {
    w[0] = q & 0x0f0f0f0fu;
    w[1] = q >> 4 & 0x0f0f0f0fu;
}

template <> struct lane_codes<VV_TYPE_Q8_0> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned, unsigned t,
                       lane_row<VV_TYPE_Q8_0> &row) {
        uint2 d = vv_codes::load8(head);
        row.d[0] = low_half(d.x), row.d[1] = high_half(d.x);
        row.d[2] = low_half(d.y), row.d[3] = high_half(d.y);
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            row.w[0][j][0] = word_at(codes + 32 * j + 4 * t);
            row.w[0][j][1] = word_at(codes + 32 * j + 16 + 4 * t);
        }
    }
};

template <> struct lane_codes<VV_TYPE_Q5_1> {
    static constexpr bool HERE = true;
    VV_CODES uint32_t fifth(uint32_t bits) { /* of four values, in place */
        return (bits & 15) * 0x02040810u & 0x10101010u;
    }
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned, unsigned t,
                       lane_row<VV_TYPE_Q5_1> &row) {
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            uint2 h = vv_codes::load8(head + 8 * j);
            uint32_t bits = h.y >> 4 * t;
            two_nibbles(word_at(codes + 16 * j + 4 * t), row.w[0][j]);
            row.w[0][j][0] |= fifth(bits);
            row.w[0][j][1] |= fifth(bits >> 16);
            row.d[j] = low_half(h.x);
            row.second[j] = high_half(h.x);
        }
    }
};

/* Sub-scales and minimums of the block's groups 4 part .. 4 part + 3, six bits each, as bytes. */
template <int TYPE>
static __device__ __forceinline__ void lane_scales(const uint8_t *head, unsigned part, unsigned t,
                                                   lane_row<TYPE> &row) {
    uint32_t h[4];
    vv_codes::load16(head, h);
    row.d[0] = low_half(h[0]);
    row.second[0] = high_half(h[0]);
    row.scales = part ? (h[3] & 0x0f0f0f0fu) | (h[1] >> 2 & 0x30303030u) : h[1] & 0x3f3f3f3fu;
    uint32_t mins =
        part ? (h[3] >> 4 & 0x0f0f0f0fu) | (h[2] >> 2 & 0x30303030u) : h[2] & 0x3f3f3f3fu;
    int least = byte_of(mins, t);
    row.least = pack_halves(least, least);
}

/* Four groups' nibbles in 64 bytes: low ones of 32 bytes, then their high ones. */
template <int TYPE>
static __device__ __forceinline__ void lane_nibbles(const uint8_t *q, unsigned t,
                                                    lane_row<TYPE> &row) {
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) {
        uint32_t two[2];
        two_nibbles(word_at(q + 16 * i + 4 * t), two);
        row.w[0][i / 2 * 2][i % 2] = two[0];
        row.w[0][i / 2 * 2 + 1][i % 2] = two[1];
    }
}

template <> struct lane_codes<VV_TYPE_Q4_K> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_Q4_K> &row) {
        lane_nibbles(codes + 64 * part, t, row);
        lane_scales(head, part, t, row);
    }
};

template <> struct lane_codes<VV_TYPE_Q5_K> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_Q5_K> &row) {
        lane_nibbles(codes + 32 + 64 * part, t, row);
        VV_UNROLL
        for (unsigned l = 0; l < 2; l++) {
            uint32_t high = word_at(codes + 16 * l + 4 * t) >> 4 * part;
            VV_UNROLL
            for (unsigned j = 0; j < 4; j++) {
                row.w[0][j][l] |= (high >> j & 0x01010101u) << 4;
            }
        }
        lane_scales(head, part, t, row);
    }
};

/* Sub-scales of 16 values: words 0 and 1 of a group have their own. */
template <> struct lane_codes<VV_TYPE_Q6_K> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_Q6_K> &row) {
        uint32_t code[4][2];
        VV_UNROLL
        for (unsigned l = 0; l < 2; l++) {
            uint32_t high = word_at(codes + 128 + 32 * part + 16 * l + 4 * t);
            VV_UNROLL
            for (unsigned i = 0; i < 2; i++) {
                uint32_t q = word_at(codes + 64 * part + 32 * i + 16 * l + 4 * t);
                code[i][l] = (q & 0x0f0f0f0fu) | (high << (4 - 2 * i) & 0x30303030u);
                code[i + 2][l] = (q >> 4 & 0x0f0f0f0fu) | (high >> 2 * i & 0x30303030u);
            }
        }
        row.d[0] = vv_codes::half_at(head + 16);
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            uint32_t two = vv_codes::u16_at(head + 8 * part + 2 * j);
            vv_group g;
            g.w[0] = (int)code[j][0];
            g.w[4] = (int)code[j][1];
            g.scale[0] = (int)(int8_t)two;
            g.scale[1] = (int)(int16_t)two >> 8;
            decode_word<VV_TYPE_Q6_K>(g, 0, row.w[0][j][0], row.w[1][j][0]);
            decode_word<VV_TYPE_Q6_K>(g, 4, row.w[0][j][1], row.w[1][j][1]);
        }
    }
};

template <> struct lane_codes<VV_TYPE_Q2_K> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_Q2_K> &row) {
        const uint8_t *q = codes + 32 * part + 4 * t, *scales = head + 8 * part;
        uint32_t code[2] = {word_at(q), word_at(q + 16)}, none;
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            uint32_t two = vv_codes::u16_at(scales + 2 * j);
            vv_group g;
            g.w[0] = (int)(code[0] >> 2 * j & 0x03030303u);
            g.w[4] = (int)(code[1] >> 2 * j & 0x03030303u);
            g.scale[0] = (int)(two & 15);
            g.scale[1] = (int)(two >> 8 & 15);
            decode_word<VV_TYPE_Q2_K>(g, 0, row.w[0][j][0], none);
            decode_word<VV_TYPE_Q2_K>(g, 4, row.w[0][j][1], none);
        }
        uint32_t two = vv_codes::u16_at(scales + 2 * t);
        row.least = pack_halves((int)(two >> 4 & 15), (int)(two >> 12));
        row.d[0] = vv_codes::half_at(head + 16);
        row.second[0] = vv_codes::half_at(head + 18);
    }
};

/* Rows of a grid: eight values of it are two lanes' words. */
template <> struct lane_codes<VV_TYPE_IQ2_XXS> {
    static constexpr bool HERE = true;
    VV_CODES uint32_t word(uint2 at, unsigned eight, unsigned odd) {
        const int8_t *row = vv_on_gpu::table_iq2xxs[at.x >> 8 * eight & 255];
        uint32_t signs = vv_on_gpu::table_signs[at.y >> 7 * eight & 127];
        return (uint32_t)vv_codes::give_signs(vv_codes::grid4(row + 4 * odd), signs >> 4 * odd);
    }
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_IQ2_XXS> &row) {
        row.scales = 0;
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            uint2 at = vv_codes::load8(codes + 32 * part + 8 * j);
            row.w[0][j][0] = word(at, t / 2, t % 2);
            row.w[0][j][1] = word(at, 2 + t / 2, t % 2);
            row.scales |= (2 * (at.y >> 28) + 1) << 8 * j;
        }
        row.d[0] = vv_codes::half_at(head) * 0.125f;
    }
};

template <> struct lane_codes<VV_TYPE_IQ3_S> {
    static constexpr bool HERE = true;
    VV_CODES uint32_t word(const uint8_t *codes, unsigned k, unsigned i) {
        uint32_t index = codes[8 * k + i] | (codes[64 + k] >> i & 1u) << 8;
        uint32_t signs = codes[72 + 4 * k + i / 2];
        return (uint32_t)vv_codes::give_signs(vv_codes::grid4(vv_on_gpu::table_iq3s[index]),
                                              signs >> 4 * (i % 2));
    }
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned part, unsigned t,
                       lane_row<VV_TYPE_IQ3_S> &row) {
        row.scales = 0;
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            unsigned k = 4 * part + j;
            row.w[0][j][0] = word(codes, k, t);
            row.w[0][j][1] = word(codes, k, 4 + t);
            row.scales |= (2u * (head[2 + k / 2] >> 4 * (j % 2) & 15) + 1) << 8 * j;
        }
        row.d[0] = vv_codes::half_at(head);
    }
};

/* Sixteen bytes a group, whose nibbles stand for values of a table. */
template <int TYPE>
static __device__ __forceinline__ void
lane_look_up(const uint32_t (&table)[4], const uint8_t *codes, unsigned t, lane_row<TYPE> &row) {
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        int low, high;
        vv_codes::look_up(table, word_at(codes + 16 * j + 4 * t), low, high);
        row.w[0][j][0] = (uint32_t)low;
        row.w[0][j][1] = (uint32_t)high;
    }
}

template <> struct lane_codes<VV_TYPE_IQ4_NL> {
    static constexpr bool HERE = true;
    VV_CODES void take(const uint8_t *codes, const uint8_t *head, unsigned, unsigned t,
                       lane_row<VV_TYPE_IQ4_NL> &row) {
        const uint32_t table[4] = VV_IQ4NL_WORDS;
        uint2 d = vv_codes::load8(head);
        row.d[0] = low_half(d.x), row.d[1] = high_half(d.x);
        row.d[2] = low_half(d.y), row.d[3] = high_half(d.y);
        lane_look_up(table, codes, t, row);
    }
};

} // namespace vv_products
