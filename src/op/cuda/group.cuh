/*
 * Weights as kernels multiply them: groups of 32 values, four signed bytes a word, with their
 * scales, out of a block's codes and header as quant/split.h lays them. One struct a format; the
 * layouts themselves are described in quant/NAME.h.
 */
#pragma once
#include "op/cuda/kernel.cuh"
#include "op/cuda/tables.cuh"
VV_C_BEGIN
#include "quant/split.h"
VV_C_END

struct vv_group {
    int w[8];     /* values 4i .. 4i + 3 in word i, BIAS too large */
    int scale[2]; /* super: of values 0..15, 16..31 */
    int min[2];   /* super with an offset */
    float d; /* super: the contract's d'; block: of all 32 values, or of the first 16 (NVFP4) */
    float second; /* super: dmin; block: the offset m, or NVFP4's scale of the other 16 */
};

namespace vv_codes {

#define VV_CODES static __device__ __forceinline__

VV_CODES uint32_t u16_at(const uint8_t *at) { /* at an even address */
    return *reinterpret_cast<const uint16_t *>(at);
}
VV_CODES float half_at(const uint8_t *at) {
    return __half2float(__ushort_as_half(*reinterpret_cast<const uint16_t *>(at)));
}
VV_CODES uint32_t u32_at(const uint8_t *at) { /* anywhere */
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
/* Sixteen bytes, at a multiple of 16. */
VV_CODES void load16(const uint8_t *at, uint32_t (&to)[4]) {
    uint4 v = *reinterpret_cast<const uint4 *>(at);
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}
/* Eight bytes, at a multiple of 8. */
VV_CODES uint2 load8(const uint8_t *at) {
    return *reinterpret_cast<const uint2 *>(at);
}

/* Four bits to the low bits of four bytes. */
VV_CODES uint32_t spread4(uint32_t bits) {
    return (bits & 15) * 0x00204081u & 0x01010101u;
}

/* Eight four-bit codes to values of a table of sixteen bytes: four low nibbles' to `low`, four high
 * nibbles' to `high`. */
VV_CODES void look_up(const uint32_t (&table)[4], uint32_t codes, int &low, int &high) {
    uint32_t half[2];
    for (int i = 0; i < 2; i++, codes >>= 16) {
        uint32_t index = codes & 0x7777, upper = 0x3210 + (codes >> 1 & 0x4444);
        uint32_t a = __byte_perm(table[0], table[1], index);
        uint32_t b = __byte_perm(table[2], table[3], index);
        half[i] = __byte_perm(a, b, upper); /* low, high, low, high */
    }
    low = (int)__byte_perm(half[0], half[1], 0x6420);
    high = (int)__byte_perm(half[0], half[1], 0x7531);
}

VV_CODES void nibbles16(const uint32_t (&q)[4], vv_group &g) {
    for (int i = 0; i < 4; i++) {
        g.w[i] = (int)(q[i] & 0x0f0f0f0fu);
        g.w[4 + i] = (int)(q[i] >> 4 & 0x0f0f0f0fu);
    }
}
VV_CODES void look_up16(const uint32_t (&table)[4], const uint32_t (&q)[4], vv_group &g) {
    for (int i = 0; i < 4; i++) {
        look_up(table, q[i], g.w[i], g.w[4 + i]);
    }
}

/* The tables of sixteen as words. */
#define VV_IQ4NL_WORDS                                                                             \
    { 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u }
#define VV_E2M1_WORDS                                                                              \
    { 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu }

/* Magnitudes, none of them 0, made negative where the bit is set. */
VV_CODES int give_signs(uint32_t magnitude, uint32_t bits) {
    uint32_t m = spread4(bits) * 255u;
    return (int)((magnitude ^ m) + (m & 0x01010101u));
}

template <typename T> VV_CODES uint2 grid8(const T *row) {
    return *reinterpret_cast<const uint2 *>(row);
}
template <typename T> VV_CODES uint32_t grid4(const T *row) {
    return *reinterpret_cast<const uint32_t *>(row);
}

/* Eight values of a grid with a byte of signs. */
VV_CODES void signed8(uint2 grid, uint32_t signs, int *w) {
    w[0] = give_signs(grid.x, signs);
    w[1] = give_signs(grid.y, signs >> 4);
}
VV_CODES void signed8(uint32_t a, uint32_t b, uint32_t signs, int *w) {
    w[0] = give_signs(a, signs);
    w[1] = give_signs(b, signs >> 4);
}

/* What all formats state. */
template <bool SUPER_, bool OFFSET_, int BIAS_, int VALUES_> struct form {
    static constexpr bool SUPER = SUPER_, OFFSET = OFFSET_;
    static constexpr int BIAS = BIAS_, VALUES = VALUES_; /* values a block */
    static constexpr bool TWO_STEPS = false;             /* a float scale for each 16 values */
    static constexpr bool SUB16 = false;                 /* a sub-scale for each 16 values */
};

template <int TYPE> struct of;

/* ---- block formats ---- */

template <> struct of<VV_TYPE_Q8_0> : form<false, false, 0, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        uint32_t a[4], b[4];
        load16(q, a);
        load16(q + 16, b);
        for (int i = 0; i < 4; i++) {
            g.w[i] = (int)a[i];
            g.w[4 + i] = (int)b[i];
        }
        g.d = half_at(h);
    }
};

template <> struct of<VV_TYPE_Q4_0> : form<false, false, 8, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        uint32_t v[4];
        load16(q, v);
        nibbles16(v, g);
        g.d = half_at(h);
    }
};

template <> struct of<VV_TYPE_Q4_1> : form<false, true, 0, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        uint32_t v[4];
        load16(q, v);
        nibbles16(v, g);
        g.d = half_at(h);
        g.second = half_at(h + 2);
    }
};

/* Adds the fifth bits: bit i of `bits` to value i. */
VV_CODES void fifth_bits(uint32_t bits, vv_group &g) {
    for (int i = 0; i < 8; i++) {
        g.w[i] |= (int)(spread4(bits >> 4 * i) << 4);
    }
}

template <> struct of<VV_TYPE_Q5_0> : form<false, false, 16, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        uint32_t v[4];
        load16(q, v);
        nibbles16(v, g);
        fifth_bits(u16_at(h + 2) | u16_at(h + 4) << 16, g);
        g.d = half_at(h);
    }
};

template <> struct of<VV_TYPE_Q5_1> : form<false, true, 0, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        uint32_t v[4];
        load16(q, v);
        nibbles16(v, g);
        uint2 head = load8(h); /* headers of 8 bytes behind codes of 16 */
        fifth_bits(head.y, g);
        g.d = __half2float(__ushort_as_half((unsigned short)(head.x & 0xffff)));
        g.second = __half2float(__ushort_as_half((unsigned short)(head.x >> 16)));
    }
};

template <> struct of<VV_TYPE_IQ4_NL> : form<false, false, 0, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        const uint32_t table[4] = VV_IQ4NL_WORDS;
        uint32_t v[4];
        load16(q, v);
        look_up16(table, v, g);
        g.d = half_at(h);
    }
};

template <> struct of<VV_TYPE_MXFP4> : form<false, false, 0, 32> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int, vv_group &g) {
        const uint32_t table[4] = VV_E2M1_WORDS;
        uint32_t v[4], e = h[0];
        load16(q, v);
        look_up16(table, v, g);
        g.d = vv_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    }
};

template <> struct of<VV_TYPE_NVFP4> : form<false, false, 0, 64> {
    static constexpr bool TWO_STEPS = true;
    VV_CODES float half_ue4m3(uint32_t byte) {
        uint32_t low = byte & 127;
        float normal = vv_from_bits((low << 20) + (119u << 23)), denormal = (float)low * 0x1p-10f;
        return byte == 255 ? 240.0f : low == 127 ? 0.0f : low < 8 ? denormal : normal;
    }
    /* Each step of 16 has its own low and high nibbles of eight bytes. */
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        const uint32_t table[4] = VV_E2M1_WORDS;
        uint32_t v[4];
        load16(q + 16 * k, v);
        look_up(table, v[0], g.w[0], g.w[2]);
        look_up(table, v[1], g.w[1], g.w[3]);
        look_up(table, v[2], g.w[4], g.w[6]);
        look_up(table, v[3], g.w[5], g.w[7]);
        g.d = half_ue4m3(h[2 * k]);
        g.second = half_ue4m3(h[2 * k + 1]);
    }
};

/* Four bytes of four two-bit codes each, value by value. */
VV_CODES int codes_of_byte(uint32_t byte) {
    return (int)((byte | byte << 6 | byte << 12 | byte << 18) & 0x03030303u);
}
VV_CODES void two_bits8(uint2 q, vv_group &g) {
    for (int i = 0; i < 4; i++) {
        g.w[i] = codes_of_byte(q.x >> 8 * i & 255);
        g.w[4 + i] = codes_of_byte(q.y >> 8 * i & 255);
    }
}

template <> struct of<VV_TYPE_Q2_0> : form<false, false, 1, 64> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        two_bits8(load8(q + 8 * k), g);
        g.d = half_at(h);
    }
};
template <> struct of<VV_TYPE_Q2_0_128> : form<false, false, 1, 128> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        two_bits8(load8(q + 8 * k), g);
        g.d = half_at(h);
    }
};

/* ---- super-block formats ---- */

VV_CODES void same_scale(int scale, vv_group &g) {
    g.scale[0] = g.scale[1] = scale;
}

template <> struct of<VV_TYPE_Q1_0> : form<true, false, 1, 128> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint32_t bits = *reinterpret_cast<const uint32_t *>(q + 4 * k);
        for (int i = 0; i < 8; i++) {
            g.w[i] = (int)(spread4(bits >> 4 * i) << 1);
        }
        same_scale(1, g);
        g.d = half_at(h);
    }
};

/* Bits 2j and 2j + 1 of 32 bytes. */
VV_CODES void two_bits32(const uint8_t *q, int j, vv_group &g) {
    uint32_t v[4];
    for (int l = 0; l < 2; l++) {
        load16(q + 16 * l, v);
        for (int i = 0; i < 4; i++) {
            g.w[4 * l + i] = (int)(v[i] >> 2 * j & 0x03030303u);
        }
    }
}

template <> struct of<VV_TYPE_Q2_K> : form<true, true, 0, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        two_bits32(q + 32 * (k / 4), k % 4, g);
        for (int l = 0; l < 2; l++) {
            int sc = h[2 * k + l];
            g.scale[l] = sc & 15;
            g.min[l] = sc >> 4;
        }
        g.d = half_at(h + 16);
        g.second = half_at(h + 18);
    }
};

template <> struct of<VV_TYPE_Q3_K> : form<true, false, 4, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        int part = k / 4, j = k % 4;
        two_bits32(q + 32 + 32 * part, j, g);
        uint32_t v[4];
        for (int l = 0; l < 2; l++) {
            load16(q + 16 * l, v);
            for (int i = 0; i < 4; i++) {
                g.w[4 * l + i] |= (int)((v[i] >> k & 0x01010101u) << 2);
            }
            int s = 2 * j + l, low = h[s] >> 4 * part & 15,
                high = h[8 + s % 4] >> (4 * part + s / 4 * 2) & 3;
            g.scale[l] = (low | high << 4) - 32;
        }
        g.d = half_at(h + 12);
    }
};

/* Sub-scale and minimum k of 8, six bits each. */
VV_CODES void k_scales(const uint8_t *packed /* [12], at a multiple of 4 */, int k, vv_group &g) {
    const uint32_t *words = reinterpret_cast<const uint32_t *>(packed);
    uint32_t a = words[0], b = words[1], c = words[2];
    int shift = 8 * (k & 3);
    if (k < 4) {
        same_scale((int)(a >> shift & 63), g);
        g.min[0] = g.min[1] = (int)(b >> shift & 63);
    } else {
        same_scale((int)((c >> shift & 15) | (a >> shift >> 2 & 48)), g);
        g.min[0] = g.min[1] = (int)((c >> shift >> 4 & 15) | (b >> shift >> 2 & 48));
    }
}

/* Nibbles of 32 bytes, the low ones or the high ones. */
VV_CODES void nibbles32(const uint8_t *q, int high, vv_group &g) {
    uint32_t v[4];
    for (int l = 0; l < 2; l++) {
        load16(q + 16 * l, v);
        for (int i = 0; i < 4; i++) {
            g.w[4 * l + i] = (int)(v[i] >> 4 * high & 0x0f0f0f0fu);
        }
    }
}

template <> struct of<VV_TYPE_Q4_K> : form<true, true, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        nibbles32(q + 32 * (k / 2), k % 2, g);
        k_scales(h + 4, k, g);
        g.d = half_at(h);
        g.second = half_at(h + 2);
    }
};

template <> struct of<VV_TYPE_Q5_K> : form<true, true, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        nibbles32(q + 32 + 32 * (k / 2), k % 2, g);
        uint32_t v[4];
        for (int l = 0; l < 2; l++) {
            load16(q + 16 * l, v);
            for (int i = 0; i < 4; i++) {
                g.w[4 * l + i] |= (int)((v[i] >> k & 0x01010101u) << 4);
            }
        }
        k_scales(h + 4, k, g);
        g.d = half_at(h);
        g.second = half_at(h + 2);
    }
};

template <> struct of<VV_TYPE_Q6_K> : form<true, false, 32, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        int part = k / 4, j = k % 4;
        nibbles32(q + 64 * part + 32 * (j % 2), j / 2, g);
        uint32_t v[4];
        for (int l = 0; l < 2; l++) {
            load16(q + 128 + 32 * part + 16 * l, v);
            for (int i = 0; i < 4; i++) {
                g.w[4 * l + i] |= (int)((v[i] >> 2 * j & 0x03030303u) << 4);
            }
            g.scale[l] = (int8_t)h[2 * k + l];
        }
        g.d = half_at(h + 16);
    }
};

template <> struct of<VV_TYPE_IQ4_XS> : form<true, false, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        const uint32_t table[4] = VV_IQ4NL_WORDS;
        uint32_t v[4];
        load16(q + 16 * k, v);
        look_up16(table, v, g);
        uint32_t high = u16_at(h + 2) >> 2 * k & 3, low = h[4 + k / 2] >> 4 * (k % 2) & 15;
        same_scale((int)(low | high << 4) - 32, g);
        g.d = half_at(h);
    }
};

VV_CODES uint32_t pair_of_signs(uint32_t index) {
    return vv_on_gpu::table_signs[index & 127] | (uint32_t)vv_on_gpu::table_signs[index >> 7 & 127]
                                                     << 8;
}

template <> struct of<VV_TYPE_IQ2_XXS> : form<true, false, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint2 at = load8(q + 8 * k);
        uint32_t rest = at.y;
        same_scale((int)(2 * (rest >> 28) + 1), g);
        for (int r = 0; r < 2; r++, rest >>= 14) {
            uint32_t signs = pair_of_signs(rest);
            signed8(grid8(vv_on_gpu::table_iq2xxs[at.x >> 16 * r & 255]), signs, g.w + 4 * r);
            signed8(grid8(vv_on_gpu::table_iq2xxs[at.x >> (16 * r + 8) & 255]), signs >> 8,
                    g.w + 4 * r + 2);
        }
        g.d = half_at(h) * 0.125f;
    }
};

template <> struct of<VV_TYPE_IQ2_XS> : form<true, false, 0, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint2 at = load8(q + 8 * k);
        for (int r = 0; r < 2; r++) {
            uint32_t pair = r ? at.y : at.x, a = pair & 0xffff, b = pair >> 16;
            uint32_t signs = pair_of_signs(a >> 9 | b >> 9 << 7);
            signed8(grid8(vv_on_gpu::table_iq2xs[a & 511]), signs, g.w + 4 * r);
            signed8(grid8(vv_on_gpu::table_iq2xs[b & 511]), signs >> 8, g.w + 4 * r + 2);
            g.scale[r] = 2 * (h[2 + k] >> 4 * r & 15) + 1;
        }
        g.d = half_at(h) * 0.125f;
    }
};

template <> struct of<VV_TYPE_IQ2_S> : form<true, false, 0, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint32_t high = h[2 + k];
        for (int r = 0; r < 4; r++, high >>= 2) {
            uint32_t row = q[4 * k + r] | (high & 3) << 8;
            signed8(grid8(vv_on_gpu::table_iq2s[row]), q[32 + 4 * k + r], g.w + 2 * r);
        }
        g.scale[0] = 2 * (h[10 + k] & 15) + 1;
        g.scale[1] = 2 * (h[10 + k] >> 4) + 1;
        g.d = half_at(h) * 0.125f;
    }
};

template <> struct of<VV_TYPE_IQ3_XXS> : form<true, false, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint2 rows = load8(q + 8 * k);
        uint32_t rest = *reinterpret_cast<const uint32_t *>(q + 64 + 4 * k);
        same_scale((int)(2 * (rest >> 28) + 1), g);
        for (int r = 0; r < 2; r++, rest >>= 14) {
            uint32_t four = r ? rows.y : rows.x, signs = pair_of_signs(rest);
            for (int i = 0; i < 2; i++, four >>= 16, signs >>= 8) {
                signed8(grid4(vv_on_gpu::table_iq3xxs[four & 255]),
                        grid4(vv_on_gpu::table_iq3xxs[four >> 8 & 255]), signs,
                        g.w + 4 * r + 2 * i);
            }
        }
        g.d = half_at(h) * 0.25f;
    }
};

template <> struct of<VV_TYPE_IQ3_S> : form<true, false, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint2 rows = load8(q + 8 * k);
        uint32_t high = q[64 + k];
        for (int r = 0; r < 4; r++, high >>= 2) {
            uint32_t pair = (r < 2 ? rows.x : rows.y) >> 16 * (r & 1);
            signed8(grid4(vv_on_gpu::table_iq3s[(pair & 255) | (high & 1) << 8]),
                    grid4(vv_on_gpu::table_iq3s[(pair >> 8 & 255) | (high & 2) << 7]),
                    q[72 + 4 * k + r], g.w + 2 * r);
        }
        same_scale(2 * (h[2 + k / 2] >> 4 * (k % 2) & 15) + 1, g);
        g.d = half_at(h);
    }
};

/* 8 grid + 1, or - 1 where told so; grid is -1, 0 or 1. */
VV_CODES void shifted8(uint2 grid, bool down, int *w) {
    for (int i = 0; i < 2; i++) {
        uint32_t v = i ? grid.y : grid.x;
        /* -1, 0, 1 times 8 in each byte: three bits to the left within the byte */
        uint32_t eight = v << 3 & 0xf8f8f8f8u, one = down ? 0xffffffffu : 0x01010101u;
        /* bytes' sum without carries between them */
        w[i] = (int)(((eight & 0x7f7f7f7fu) + (one & 0x7f7f7f7fu)) ^ ((eight ^ one) & 0x80808080u));
    }
}

template <> struct of<VV_TYPE_IQ1_S> : form<true, false, 0, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint32_t high = u16_at(q + 32 + 2 * k);
        bool down = high & 0x8000;
        same_scale((int)(2 * (high >> 12 & 7) + 1), g);
        for (int r = 0; r < 4; r++, high >>= 3) {
            shifted8(grid8(vv_on_gpu::table_iq1s[q[4 * k + r] | (high & 7) << 8]), down,
                     g.w + 2 * r);
        }
        g.d = half_at(h) * 0.125f;
    }
};

template <> struct of<VV_TYPE_IQ1_M> : form<true, false, 0, 256> {
    static constexpr bool SUB16 = true;
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        uint32_t d = 0;
        for (int i = 0; i < 4; i++) {
            d |= u16_at(h + 2 * i) >> 12 << 4 * i;
        }
        uint32_t high = u16_at(q + 32 + 2 * k), s = u16_at(h + 2 * (k / 2)) >> 6 * (k % 2);
        g.scale[0] = (int)(2 * (s & 7) + 1);
        g.scale[1] = (int)(2 * (s >> 3 & 7) + 1);
        for (int r = 0; r < 4; r++, high >>= 4) {
            shifted8(grid8(vv_on_gpu::table_iq1s[q[4 * k + r] | (high & 7) << 8]), high & 8,
                     g.w + 2 * r);
        }
        g.d = __half2float(__ushort_as_half((unsigned short)d)) * 0.125f;
    }
};

template <> struct of<VV_TYPE_TQ2_0> : form<true, false, 1, 256> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        two_bits32(q + 32 * (k / 4), k % 4, g);
        same_scale(1, g);
        g.d = half_at(h);
    }
};

template <> struct of<VV_TYPE_TQ1_0> : form<true, false, 1, 256> {
    VV_CODES uint32_t digit(uint32_t byte, int power) {
        constexpr uint32_t third = 3;
        uint32_t v = byte;
        for (int i = 0; i < power; i++) {
            v *= third;
        }
        return (v & 255) * 3 >> 8;
    }
    VV_CODES uint32_t value(const uint8_t *q, const uint8_t *h, int i) {
        return i < 160   ? digit(q[i % 32], i / 32)
               : i < 240 ? digit(q[32 + i % 16], (i - 160) / 16)
                         : digit(h[i % 4], (i - 240) / 4);
    }
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        for (int i = 0; i < 8; i++) {
            int at = 32 * k + 4 * i;
            g.w[i] = (int)(value(q, h, at) | value(q, h, at + 1) << 8 | value(q, h, at + 2) << 16 |
                           value(q, h, at + 3) << 24);
        }
        same_scale(1, g);
        g.d = half_at(h + 4);
    }
};

} // namespace vv_codes

static constexpr int vv_block_bytes(int type) {
    switch (type) {
#define VV_BYTES(name, id, values, bytes)                                                          \
    case id:                                                                                       \
        return bytes;
        VV_TYPES(VV_BYTES)
#undef VV_BYTES
    default:
        return 0;
    }
}

/* Bytes of a block's codes and header. */
template <int TYPE> struct vv_split;
#define VV_SPLIT(name, from, bytes)                                                                \
    template <> struct vv_split<VV_TYPE_##name> {                                                  \
        static constexpr int CODES = bytes, HEADER = vv_block_bytes(VV_TYPE_##name) - (bytes);     \
    };
VV_SPLIT_FORMATS(VV_SPLIT)
#undef VV_SPLIT

/* Group `k` of 32 values of a row of `width` values that lies split. */
template <int TYPE>
static __device__ __forceinline__ void vv_unpack_group(const uint8_t *row, unsigned width,
                                                       unsigned k, vv_group &g) {
    using f = vv_codes::of<TYPE>;
    constexpr unsigned groups = f::VALUES / 32;
    unsigned block = k / groups;
    const uint8_t *codes = row + (size_t)block * vv_split<TYPE>::CODES;
    const uint8_t *headers = row + (size_t)(width / f::VALUES) * vv_split<TYPE>::CODES;
    f::unpack(codes, headers + (size_t)block * vv_split<TYPE>::HEADER, (int)(k % groups), g);
}

/* Value i of a group, decoded as quant/list.h does. */
template <int TYPE>
static __device__ __forceinline__ float vv_group_value(const vv_group &g, int i) {
    using f = vv_codes::of<TYPE>;
    float w = (float)((int)(int8_t)(g.w[i / 4] >> 8 * (i % 4)) - f::BIAS);
    if (f::SUPER) {
        float value = (g.d * (float)g.scale[i / 16]) * w;
        return f::OFFSET ? value - g.second * (float)g.min[i / 16] : value;
    }
    float value = (f::TWO_STEPS && i >= 16 ? g.second : g.d) * w;
    return f::OFFSET ? value + g.second : value;
}
