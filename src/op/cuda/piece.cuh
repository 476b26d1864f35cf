/*
 * What a lane of a matrix instruction takes of a group of 32 weights: words t and 4 + t of it, t =
 * lane mod 4, as vv_group has them. Beside each format's `unpack` (group.cuh), which decodes a
 * whole group in one thread, here is the same for such a share alone.
 */
#pragma once
#include "op/cuda/group.cuh"

namespace vv_codes {

VV_CODES uint32_t word_at(const uint8_t *at, int i) {
    return reinterpret_cast<const uint32_t *>(at)[i];
}

/* get: the two words; q: the block's codes, h: its header, k: the group in the block. */
template <int TYPE> struct piece;

template <> struct piece<VV_TYPE_Q8_0> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int, int t, uint32_t &a, uint32_t &b) {
        a = word_at(q, t);
        b = word_at(q, 4 + t);
    }
};

/* Low nibbles of sixteen bytes, then the high ones. */
struct piece_of_nibbles {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int, int t, uint32_t &a, uint32_t &b) {
        uint32_t v = word_at(q, t);
        a = v & 0x0f0f0f0fu;
        b = v >> 4 & 0x0f0f0f0fu;
    }
};
template <> struct piece<VV_TYPE_Q4_0> : piece_of_nibbles {};
template <> struct piece<VV_TYPE_Q4_1> : piece_of_nibbles {};

VV_CODES void add_fifth_bits(uint32_t bits, int t, uint32_t &a, uint32_t &b) {
    a |= spread4(bits >> 4 * t) << 4;
    b |= spread4(bits >> (16 + 4 * t)) << 4;
}
template <> struct piece<VV_TYPE_Q5_0> {
    VV_CODES void get(const uint8_t *q, const uint8_t *h, int k, int t, uint32_t &a, uint32_t &b) {
        piece_of_nibbles::get(q, h, k, t, a, b);
        add_fifth_bits(u16_at(h + 2) | u16_at(h + 4) << 16, t, a, b);
    }
};
template <> struct piece<VV_TYPE_Q5_1> {
    VV_CODES void get(const uint8_t *q, const uint8_t *h, int k, int t, uint32_t &a, uint32_t &b) {
        piece_of_nibbles::get(q, h, k, t, a, b);
        add_fifth_bits(word_at(h, 1), t, a, b);
    }
};

VV_CODES void look_up_word(const uint32_t (&table)[4], uint32_t codes, uint32_t &a, uint32_t &b) {
    int low, high;
    look_up(table, codes, low, high);
    a = (uint32_t)low;
    b = (uint32_t)high;
}
template <> struct piece<VV_TYPE_IQ4_NL> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int, int t, uint32_t &a, uint32_t &b) {
        const uint32_t table[4] = VV_IQ4NL_WORDS;
        look_up_word(table, word_at(q, t), a, b);
    }
};
template <> struct piece<VV_TYPE_IQ4_XS> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        const uint32_t table[4] = VV_IQ4NL_WORDS;
        look_up_word(table, word_at(q + 16 * k, t), a, b);
    }
};
template <> struct piece<VV_TYPE_MXFP4> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int, int t, uint32_t &a, uint32_t &b) {
        const uint32_t table[4] = VV_E2M1_WORDS;
        look_up_word(table, word_at(q, t), a, b);
    }
};
template <> struct piece<VV_TYPE_NVFP4> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        const uint32_t table[4] = VV_E2M1_WORDS;
        uint32_t low[2], high[2];
        look_up_word(table, word_at(q + 16 * k, t % 2), low[0], high[0]);
        look_up_word(table, word_at(q + 16 * k, 2 + t % 2), low[1], high[1]);
        a = t < 2 ? low[0] : high[0];
        b = t < 2 ? low[1] : high[1];
    }
};

struct piece_of_two_bits {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        a = (uint32_t)codes_of_byte(q[8 * k + t]);
        b = (uint32_t)codes_of_byte(q[8 * k + 4 + t]);
    }
};
template <> struct piece<VV_TYPE_Q2_0> : piece_of_two_bits {};
template <> struct piece<VV_TYPE_Q2_0_128> : piece_of_two_bits {};

template <> struct piece<VV_TYPE_Q1_0> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint32_t bits = word_at(q, k);
        a = spread4(bits >> 4 * t) << 1;
        b = spread4(bits >> (16 + 4 * t)) << 1;
    }
};

/* Words t and 4 + t of 32 bytes, shifted; under a mask. */
VV_CODES void bits_of_32(const uint8_t *at, int shift, uint32_t mask, int t, uint32_t &a,
                         uint32_t &b) {
    a = word_at(at, t) >> shift & mask;
    b = word_at(at, 4 + t) >> shift & mask;
}
struct piece_of_two_bits32 {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        bits_of_32(q + 32 * (k / 4), 2 * (k % 4), 0x03030303u, t, a, b);
    }
};
template <> struct piece<VV_TYPE_Q2_K> : piece_of_two_bits32 {};
template <> struct piece<VV_TYPE_TQ2_0> : piece_of_two_bits32 {};
template <> struct piece<VV_TYPE_Q3_K> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint32_t high[2];
        bits_of_32(q + 32 + 32 * (k / 4), 2 * (k % 4), 0x03030303u, t, a, b);
        bits_of_32(q, k, 0x01010101u, t, high[0], high[1]);
        a |= high[0] << 2;
        b |= high[1] << 2;
    }
};
template <> struct piece<VV_TYPE_Q4_K> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        bits_of_32(q + 32 * (k / 2), 4 * (k % 2), 0x0f0f0f0fu, t, a, b);
    }
};
template <> struct piece<VV_TYPE_Q5_K> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint32_t high[2];
        bits_of_32(q + 32 + 32 * (k / 2), 4 * (k % 2), 0x0f0f0f0fu, t, a, b);
        bits_of_32(q, k, 0x01010101u, t, high[0], high[1]);
        a |= high[0] << 4;
        b |= high[1] << 4;
    }
};
template <> struct piece<VV_TYPE_Q6_K> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint32_t high[2];
        int part = k / 4, j = k % 4;
        bits_of_32(q + 64 * part + 32 * (j % 2), 4 * (j / 2), 0x0f0f0f0fu, t, a, b);
        bits_of_32(q + 128 + 32 * part, 2 * j, 0x03030303u, t, high[0], high[1]);
        a |= high[0] << 4;
        b |= high[1] << 4;
    }
};

/* Of a grid's row of eight values, four. */
template <typename T> VV_CODES uint32_t half_of_grid8(const T *row, int half) {
    return reinterpret_cast<const uint32_t *>(row)[half];
}
VV_CODES uint32_t give(uint32_t magnitude, uint32_t signs, int half) {
    return (uint32_t)give_signs(magnitude, signs >> 4 * half);
}

template <> struct piece<VV_TYPE_IQ2_XXS> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint2 at = load8(q + 8 * k);
        int e = t / 2;
        for (int r = 0; r < 2; r++) {
            uint32_t signs = vv_on_gpu::table_signs[at.y >> (14 * r + 7 * e) & 127];
            uint32_t row = at.x >> (16 * r + 8 * e) & 255;
            (r ? b : a) = give(half_of_grid8(vv_on_gpu::table_iq2xxs[row], t % 2), signs, t % 2);
        }
    }
};
template <> struct piece<VV_TYPE_IQ2_XS> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint2 at = load8(q + 8 * k);
        for (int r = 0; r < 2; r++) {
            uint32_t one = (r ? at.y : at.x) >> 16 * (t / 2) & 0xffff;
            uint32_t signs = vv_on_gpu::table_signs[one >> 9];
            (r ? b : a) =
                give(half_of_grid8(vv_on_gpu::table_iq2xs[one & 511], t % 2), signs, t % 2);
        }
    }
};
template <> struct piece<VV_TYPE_IQ2_S> {
    VV_CODES void get(const uint8_t *q, const uint8_t *h, int k, int t, uint32_t &a, uint32_t &b) {
        for (int r = 0; r < 2; r++) {
            int e = 2 * r + t / 2;
            uint32_t row = q[4 * k + e] | (uint32_t)(h[2 + k] >> 2 * e & 3) << 8;
            (r ? b : a) =
                give(half_of_grid8(vv_on_gpu::table_iq2s[row], t % 2), q[32 + 4 * k + e], t % 2);
        }
    }
};
template <> struct piece<VV_TYPE_IQ3_XXS> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        uint32_t rest = word_at(q + 64, k);
        for (int r = 0; r < 2; r++) {
            uint32_t signs = vv_on_gpu::table_signs[rest >> (14 * r + 7 * (t / 2)) & 127];
            uint32_t row = q[8 * k + 4 * r + t];
            (r ? b : a) = give(grid4(vv_on_gpu::table_iq3xxs[row]), signs, t % 2);
        }
    }
};
template <> struct piece<VV_TYPE_IQ3_S> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        for (int r = 0; r < 2; r++) {
            int i = 4 * r + t;
            uint32_t row = q[8 * k + i] | (uint32_t)(q[64 + k] >> i & 1) << 8;
            (r ? b : a) = give(grid4(vv_on_gpu::table_iq3s[row]), q[72 + 4 * k + i / 2], t % 2);
        }
    }
};

/* 8 grid + 1, or - 1 where told so, of four values: the first word of shifted8. */
VV_CODES uint32_t shifted4(uint32_t grid, bool down) {
    int w[2];
    shifted8(make_uint2(grid, 0), down, w);
    return (uint32_t)w[0];
}
template <int BITS>
VV_CODES void piece_of_iq1(const uint8_t *q, int k, int t, int down[2], uint32_t &a, uint32_t &b) {
    uint32_t high = u16_at(q + 32 + 2 * k);
    for (int r = 0; r < 2; r++) {
        int e = 2 * r + t / 2;
        uint32_t row = q[4 * k + e] | (high >> BITS * e & 7) << 8;
        bool minus = high >> down[r] & 1;
        (r ? b : a) = shifted4(half_of_grid8(vv_on_gpu::table_iq1s[row], t % 2), minus);
    }
}
template <> struct piece<VV_TYPE_IQ1_S> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        int down[2] = {15, 15};
        piece_of_iq1<3>(q, k, t, down, a, b);
    }
};
template <> struct piece<VV_TYPE_IQ1_M> {
    VV_CODES void get(const uint8_t *q, const uint8_t *, int k, int t, uint32_t &a, uint32_t &b) {
        int down[2] = {4 * (t / 2) + 3, 4 * (2 + t / 2) + 3};
        piece_of_iq1<4>(q, k, t, down, a, b);
    }
};
template <> struct piece<VV_TYPE_TQ1_0> {
    VV_CODES void get(const uint8_t *q, const uint8_t *h, int k, int t, uint32_t &a, uint32_t &b) {
        a = b = 0;
        for (int i = 0; i < 4; i++) {
            int at = 32 * k + 4 * t + i;
            a |= of<VV_TYPE_TQ1_0>::value(q, h, at) << 8 * i;
            b |= of<VV_TYPE_TQ1_0>::value(q, h, at + 16) << 8 * i;
        }
    }
};

} // namespace vv_codes
