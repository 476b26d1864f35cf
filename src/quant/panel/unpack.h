/*
 * The block formats as panels: vv_panel_NAME unpacks segment `part` of a super-block, or block
 * `part` of a segment; the blocks of row r begin at g[r] + at. Layouts: quant/NAME.h.
 */
#pragma once
#include "quant/panel/transpose.h"
#include "quant/tables.h"

typedef uint8_t vv_lane_bytes __attribute__((vector_size(4 * VV_WIDTH)));
#define VV_EACH(byte) (UINT32_C(0x01010101) * (byte))

typedef void vv_panel_unpack(const uint8_t *const *g, size_t at, int part, struct vv_strip *to);

/* ---- block formats ---- */

/* Sixteen bytes of nibbles: low ones are values 0 .. 15 of a block, high ones 16 .. 31. */
VV_INLINE void vv_panel_nibbles(const uint8_t *const *g, size_t at, vv_lanes *w /* [8] */) {
    vv_lanes q[4];
    vv_turn(g, at, q);
    for (int i = 0; i < 4; i++) {
        w[i] = q[i] & VV_EACH(15);
        w[4 + i] = q[i] >> 4 & VV_EACH(15);
    }
}

/* Bit i of a 32-bit word becomes 16 in value i. */
VV_INLINE void vv_panel_fifths(const vv_lanes *word, vv_lanes *w /* [8] */) {
    vv_lanes bits = *word;
    for (int i = 0; i < 8; i++) {
#ifdef __AVX512F__
        const __m512i spread = _mm512_set_epi32(
            0x10101010, 0x10101000, 0x10100010, 0x10100000, 0x10001010, 0x10001000, 0x10000010,
            0x10000000, 0x101010, 0x101000, 0x100010, 0x100000, 0x1010, 0x1000, 0x10, 0);
        w[i] |= (vv_lanes)_mm512_permutexvar_epi32((__m512i)(bits >> 4 * i), spread);
#elif defined(__AVX2__)
        /* Byte i / 2 of each lane to all four, of which each keeps its own bit. */
        __m256i own = _mm256_set1_epi32(i % 2 ? (int32_t)0x80402010 : 0x08040201);
        __m256i from = _mm256_set_epi64x(0x0c0c0c0c08080808, 0x0404040400000000, 0x0c0c0c0c08080808,
                                         0x0404040400000000);
        __m256i four = _mm256_shuffle_epi8((__m256i)(bits >> 8 * (i / 2)), from);
        four = _mm256_cmpeq_epi8(_mm256_and_si256(four, own), own);
        w[i] |= (vv_lanes)four & VV_EACH(16);
#else
        /* Bits 0 to 3 to the lowest of each byte: copies 0, 7, 14 and 21 places up. */
        w[i] |= ((bits >> 4 * i & 15) * UINT32_C(0x00204081) & VV_EACH(1)) << 4;
#endif
    }
}

VV_INLINE void vv_panel_q4_0(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_panel_nibbles(g, at + 2, to->w + 8 * part);
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
}

VV_INLINE void vv_panel_q4_1(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_panel_nibbles(g, at + 4, to->w + 8 * part);
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
    vv_high_halves_of(&head[0], &to->m[part]);
}

VV_INLINE void vv_panel_q5_0(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
    vv_panel_nibbles(g, at + 6, to->w + 8 * part);
    vv_lanes bits = head[0] >> 16 | head[1] << 16;
    vv_panel_fifths(&bits, to->w + 8 * part);
}

VV_INLINE void vv_panel_q5_1(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
    vv_high_halves_of(&head[0], &to->m[part]);
    vv_panel_nibbles(g, at + 8, to->w + 8 * part);
    vv_panel_fifths(&head[1], to->w + 8 * part);
}

VV_INLINE void vv_panel_q8_0(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4], *w = to->w + 8 * part;
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
    vv_turn(g, at + 2, w);
    vv_turn(g, at + 18, w + 4);
    for (int i = 0; i < 8; i++) {
        w[i] ^= VV_EACH(0x80);
    }
}

/* A table of sixteen values, shifted to be unsigned. */
VV_INLINE void vv_panel_look_up(const int8_t *values, int shift, vv_lanes *w /* [n] */, int n) {
    uint8_t table[16];
    for (int i = 0; i < 16; i++) {
        table[i] = (uint8_t)(values[i] + shift);
    }
    for (int i = 0; i < n; i++) {
        vv_look_up_bytes(table, &w[i]);
    }
}

VV_INLINE void vv_panel_iq4_nl(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_panel_nibbles(g, at + 2, to->w + 8 * part);
    vv_panel_look_up(vv_iq4nl_values, 128, to->w + 8 * part, 8);
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[part]);
}

VV_INLINE void vv_panel_mxfp4(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    vv_lanes e = head[0] & 255; /* 2^(e - 128), denormal below 2 */
    vv_lanes is_denormal = (vv_lanes)(((vv_signed_lanes)e - 2) >> 31);
    to->d[part] = (vv_float_lanes)(((e + 1) << 21 & is_denormal) | ((e - 1) << 23 & ~is_denormal));
    vv_panel_nibbles(g, at + 1, to->w + 8 * part);
    vv_panel_look_up(vv_e2m1_doubled, 16, to->w + 8 * part, 8);
}

/* Half of UE4M3 in each lane's low byte (vv_half_ue4m3 in quant/nvfp4.h): the seven bits are those
 * of a half 2^7 times smaller, for 255, too; 127 is none. */
VV_INLINE void vv_panel_half_ue4m3(const vv_lanes *v, vv_float_lanes *to) {
    vv_lanes half = (*v & 127) << 7, from_127 = (*v & 255) ^ 127;
    vv_signed_lanes is_number = -(vv_signed_lanes)from_127 >> 31; /* GCC compares lane by lane */
    vv_halves_of(&half, to);
    *to = (vv_float_lanes)((vv_lanes)(*to * 128.0f) & (vv_lanes)is_number);
}

VV_INLINE void vv_panel_nvfp4(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4], q[8], *w = to->w + 16 * part;
    vv_turn(g, at, head);
    vv_turn(g, at + 4, q);
    vv_turn(g, at + 20, q + 4);
    for (int s = 0; s < 4; s++) { /* of 16 values: low nibbles of eight bytes, then high ones */
        for (int i = 0; i < 2; i++) {
            w[4 * s + i] = q[2 * s + i] & VV_EACH(15);
            w[4 * s + 2 + i] = q[2 * s + i] >> 4 & VV_EACH(15);
        }
        vv_lanes scale = head[0] >> 8 * s;
        vv_panel_half_ue4m3(&scale, &to->step_d[4 * part + s]);
    }
    vv_panel_look_up(vv_e2m1_doubled, 16, w, 16);
}

/* Two-bit codes: byte i of sixteen holds values 4i .. 4i + 3, lowest bits first. */
VV_INLINE void vv_panel_codes(const uint8_t *const *g, size_t at, vv_lanes *w /* [16] */) {
    vv_lanes q[4];
    vv_turn(g, at, q);
    for (int i = 0; i < 16; i++) {
        vv_lanes byte = q[i / 4] >> 8 * (i % 4) & 255;
        byte |= byte << 12;
        w[i] = (byte | byte << 6) & VV_EACH(3);
    }
}

VV_INLINE void vv_panel_q2_0(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[2 * part]);
    vv_panel_codes(g, at + 2, to->w + 16 * part);
    to->d[2 * part + 1] = to->d[2 * part];
}

VV_INLINE void vv_panel_q2_0_128(const uint8_t *const *g, size_t at, int part,
                                 struct vv_strip *to) {
    vv_lanes head[4];
    (void)part;
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[0]);
    vv_panel_codes(g, at + 2, to->w);
    vv_panel_codes(g, at + 18, to->w + 16);
    to->d[1] = to->d[2] = to->d[3] = to->d[0];
}

/* ---- super-block formats ---- */

/* Byte k of each lane, signed, plus `bias`. */
VV_INLINE void vv_panel_byte(const vv_lanes *v, int k, int bias, vv_lanes *to) {
    *to = (vv_lanes)(((vv_signed_lanes)(*v << (24 - 8 * k)) >> 24) + bias);
}

/* Sub-scales of eight groups from two words, and their pairs. */
VV_INLINE void vv_panel_scales(const vv_lanes *words /* [2] */, int bias, struct vv_strip *to) {
    for (int k = 0; k < 8; k++) {
        vv_panel_byte(&words[k / 4], k % 4, bias, &to->scale[k]);
    }
    for (int p = 0; p < 4; p++) {
        to->pair[p] = (to->scale[2 * p] & 0xffff) | to->scale[2 * p + 1] << 16;
    }
}

VV_INLINE void vv_panel_q2_k(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes q[8], scales[4], tail[4], *sc = scales + 2 * part;
    vv_turn(g, at + 16 + 32 * (size_t)part, q);
    vv_turn(g, at + 32 + 32 * (size_t)part, q + 4);
    vv_turn(g, at, scales);
    for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 8; i++) {
            to->w[8 * j + i] = q[i] >> 2 * j & VV_EACH(3);
        }
    }
    for (int k = 0; k < 8; k++) {
        to->scale[k] = sc[k / 4] >> 8 * (k % 4) & 15;
    }
    for (int p = 0; p < 4; p++) {
        vv_lanes two = sc[p / 2] >> (16 * (p % 2) + 4);
        to->pair[p] = (two & 15) | (two >> 8 & 15) << 16;
    }
    vv_turn(g, at + 68, tail);
    vv_halves_of(&tail[3], &to->d[0]);
    vv_high_halves_of(&tail[3], &to->m[0]);
}

VV_INLINE void vv_panel_q3_k(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes q[8], high[8], end[4], tail[4], sc[2];
    for (size_t half = 0; half < 2; half++) {
        vv_turn(g, at + 16 * half, high + 4 * half);
        vv_turn(g, at + 32 + 32 * (size_t)part + 16 * half, q + 4 * half);
    }
    vv_turn(g, at + 92, end);
    const vv_lanes *packed = end + 1;
    for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 8; i++) {
            to->w[8 * j + i] =
                (q[i] >> 2 * j & VV_EACH(3)) | (high[i] >> (4 * part + j) & VV_EACH(1)) << 2;
        }
    }
    for (int k = 0; k < 2; k++) {
        sc[k] = (packed[k] >> 4 * part & VV_EACH(15)) |
                (packed[2] >> (4 * part + 2 * k) & VV_EACH(3)) << 4;
    }
    vv_panel_scales(sc, -32, to);
    vv_turn(g, at + 94, tail);
    vv_high_halves_of(&tail[3], &to->d[0]);
}

/* d, dmin and the six-bit sub-scales and minimums of four groups of 32 values. */
VV_INLINE void vv_panel_k_header(const uint8_t *const *g, size_t at, int part,
                                 struct vv_strip *to) {
    vv_lanes v[4], scale, min;
    vv_turn(g, at, v);
    if (part) {
        scale = (v[3] & VV_EACH(15)) | (v[1] >> 2 & VV_EACH(0x30));
        min = (v[3] >> 4 & VV_EACH(15)) | (v[2] >> 2 & VV_EACH(0x30));
    } else {
        scale = v[1] & VV_EACH(63);
        min = v[2] & VV_EACH(63);
    }
    for (int k = 0; k < 4; k++) {
        to->scale[k] = scale >> 8 * k & 63;
        to->pair[k] = (min >> 8 * k & 63) * UINT32_C(0x10001);
    }
    vv_halves_of(&v[0], &to->d[0]);
    vv_high_halves_of(&v[0], &to->m[0]);
}

/* Low nibbles of 64 bytes are groups 0 and 2, high ones 1 and 3. */
VV_INLINE void vv_panel_k_nibbles(const uint8_t *const *g, size_t at, struct vv_strip *to) {
    for (int half = 0; half < 2; half++) {
        vv_lanes q[8], *w = to->w + 16 * half;
        vv_turn(g, at + 32 * (size_t)half, q);
        vv_turn(g, at + 32 * (size_t)half + 16, q + 4);
        for (int i = 0; i < 8; i++) {
            w[i] = q[i] & VV_EACH(15);
            w[8 + i] = q[i] >> 4 & VV_EACH(15);
        }
    }
}

VV_INLINE void vv_panel_q4_k(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_panel_k_header(g, at, part, to);
    vv_panel_k_nibbles(g, at + 16 + 64 * (size_t)part, to);
}

VV_INLINE void vv_panel_q5_k(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes high[8];
    vv_panel_k_header(g, at, part, to);
    vv_panel_k_nibbles(g, at + 48 + 64 * (size_t)part, to);
    vv_turn(g, at + 16, high);
    vv_turn(g, at + 32, high + 4);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 8; i++) {
            to->w[8 * k + i] |= (high[i] >> (4 * part + k) & VV_EACH(1)) << 4;
        }
    }
}

/* Low nibbles of 64 bytes are values 0 to 63, high ones the rest; two more bits in 32 bytes. */
VV_INLINE void vv_panel_q6_k(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes high[8], scales[4], tail[4];
    vv_turn(g, at + 128 + 32 * (size_t)part, high);
    vv_turn(g, at + 144 + 32 * (size_t)part, high + 4);
    for (int half = 0; half < 2; half++) {
        vv_lanes q[8], *w = to->w + 8 * half;
        vv_turn(g, at + 64 * (size_t)part + 32 * (size_t)half, q);
        vv_turn(g, at + 64 * (size_t)part + 32 * (size_t)half + 16, q + 4);
        for (int i = 0; i < 8; i++) {
            w[i] = (q[i] & VV_EACH(15)) | (high[i] >> 2 * half & VV_EACH(3)) << 4;
            w[16 + i] = (q[i] >> 4 & VV_EACH(15)) | (high[i] >> (4 + 2 * half) & VV_EACH(3)) << 4;
        }
    }
    vv_turn(g, at + 192, scales);
    vv_panel_scales(scales + 2 * part, 0, to);
    vv_turn(g, at + 194, tail);
    vv_high_halves_of(&tail[3], &to->d[0]);
}

VV_INLINE void vv_panel_iq4_xs(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    for (int k = 0; k < 4; k++) {
        vv_panel_nibbles(g, at + 8 + 64 * (size_t)part + 16 * (size_t)k, to->w + 8 * k);
    }
    vv_panel_look_up(vv_iq4nl_values, 128, to->w, 32);
    for (int k = 0; k < 4; k++) {
        vv_lanes sc =
            (head[1] >> (16 * part + 4 * k) & 15) | (head[0] >> (16 + 8 * part + 2 * k) & 3) << 4;
        to->scale[2 * k] = to->scale[2 * k + 1] = sc - 32;
        to->pair[k] = ((sc - 32) & 0xffff) * UINT32_C(0x10001);
    }
    vv_halves_of(&head[0], &to->d[0]);
}

/* Four sign indices of seven bits a lane to bytes of eight signs, whose number is even. */
VV_INLINE void vv_panel_signs(const vv_lanes *index, vv_lanes *to) {
    static const uint8_t odd[16] = {0, 128, 128, 0, 128, 0, 0, 128, 128, 0, 0, 128, 0, 128, 128, 0};
    vv_lanes v = *index;
    vv_lanes seven = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
    vv_lanes eighth = (seven ^ seven >> 4) & VV_EACH(15);
    vv_look_up_bytes(odd, &eighth);
    *to = seven | eighth;
}

/* Sub-scale of group k, above its signs. */
VV_INLINE void vv_panel_iq2_xxs_scale(const vv_lanes *signs, int k, struct vv_strip *to) {
    vv_lanes scale = (*signs >> 28 << 1) + 1;
    to->scale[2 * k] = to->scale[2 * k + 1] = scale;
    to->pair[k] = scale * UINT32_C(0x10001);
}

VV_INLINE void vv_panel_iq2_xxs_d(const uint8_t *const *g, size_t at, struct vv_strip *to) {
    vv_lanes head[4];
    vv_turn(g, at, head);
    vv_halves_of(&head[0], &to->d[0]);
    to->d[0] = to->d[0] * 0.125f;
}

VV_INLINE void vv_panel_iq2_xxs(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes v[8], signs;
    vv_turn(g, at + 2 + 32 * (size_t)part, v);
    vv_turn(g, at + 18 + 32 * (size_t)part, v + 4);
    for (int k = 0; k < 4; k++) {
        vv_lanes *w = to->w + 8 * k;
        uint8_t row[4 * VV_WIDTH]; /* of the grid: four a lane */
        memcpy(row, &v[2 * k], sizeof row);
        vv_panel_signs(&v[2 * k + 1], &signs);
        for (int r = 0; r < 4; r++) {
            vv_look_up_eights(vv_iq2xxs_grid, row + r, w + 2 * r);
            vv_negate_eights(&signs, r, w + 2 * r);
        }
        for (int i = 0; i < 8; i++) {
            w[i] = (vv_lanes)((vv_lane_bytes)w[i] + 64);
        }
        vv_panel_iq2_xxs_scale(&v[2 * k + 1], k, to);
    }
    vv_panel_iq2_xxs_d(g, at, to);
}

/* Number `i` of the rows of a grid that a lane's bytes name, one for each four values. */
VV_INLINE void vv_panel_grid_number(const vv_lanes *bytes, int i, vv_lanes *to) {
    *to = bytes[i / 4] >> 8 * (i % 4) & 255;
}

VV_INLINE void vv_panel_iq3_s(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes q[8], high[4], signs[4], tail[4], head[4];
    vv_turn(g, at + 2 + 32 * (size_t)part, q);
    vv_turn(g, at + 18 + 32 * (size_t)part, q + 4);
    vv_turn(g, at + 66, high);
    vv_turn(g, at + 74 + 16 * (size_t)part, signs);
    vv_turn(g, at + 94, tail);
    vv_turn(g, at, head);
    for (int m = 0; m < 16; m++) {
        vv_lanes *w = to->w + 2 * m;
        for (int i = 0; i < 2; i++) {
            vv_panel_grid_number(q, 2 * m + i, &w[i]);
            w[i] |= (high[part] >> (2 * m + i) & 1) << 8;
            vv_look_up_fours(vv_iq3s_grid, &w[i]);
        }
        vv_negate_eights(&signs[m / 4], m % 4, w);
        for (int i = 0; i < 2; i++) {
            w[i] = (vv_lanes)((vv_lane_bytes)w[i] + 16);
        }
    }
    for (int k = 0; k < 4; k++) {
        vv_lanes scale = (tail[3] >> (16 * part + 4 * k) & 15) << 1 | 1;
        to->scale[2 * k] = to->scale[2 * k + 1] = scale;
        to->pair[k] = scale * UINT32_C(0x10001);
    }
    vv_halves_of(&head[0], &to->d[0]);
}

VV_INLINE void vv_panel_iq3_xxs(const uint8_t *const *g, size_t at, int part, struct vv_strip *to) {
    vv_lanes q[8], rest[4], head[4], signs;
    vv_turn(g, at + 2 + 32 * (size_t)part, q);
    vv_turn(g, at + 18 + 32 * (size_t)part, q + 4);
    vv_turn(g, at + 66 + 16 * (size_t)part, rest);
    vv_turn(g, at, head);
    for (int k = 0; k < 4; k++) {
        vv_lanes *w = to->w + 8 * k;
        vv_panel_signs(&rest[k], &signs);
        for (int i = 0; i < 8; i++) {
            vv_panel_grid_number(q, 8 * k + i, &w[i]);
            vv_look_up_fours(vv_iq3xxs_grid, &w[i]);
        }
        for (int r = 0; r < 4; r++) {
            vv_negate_eights(&signs, r, w + 2 * r);
        }
        for (int i = 0; i < 8; i++) {
            w[i] = (vv_lanes)((vv_lane_bytes)w[i] + 64);
        }
        vv_panel_iq2_xxs_scale(&rest[k], k, to);
    }
    vv_halves_of(&head[0], &to->d[0]);
    to->d[0] = to->d[0] * 0.25f;
}

/* ---- the rest, by way of the sixteen rows' integers ---- */

/* Formats whose values are looked up in large tables: each row by itself, then turned. */
VV_INLINE void vv_panel_of_segments(void (*unpack)(const uint8_t *, size_t, struct vv_segment *),
                                    const uint8_t *const *g, size_t at, int part,
                                    struct vv_strip *to) {
    uint8_t bytes[VV_WIDTH][128];
    const uint8_t *turned[VV_WIDTH];
    int16_t scale[8][VV_WIDTH];
    float d[VV_WIDTH];
    for (int r = 0; r < VV_WIDTH; r++) {
        struct vv_segment s;
        unpack(g[r] + at, (size_t)part, &s);
        for (int i = 0; i < 128; i++) {
            bytes[r][i] = (uint8_t)(s.w[i] + 128);
        }
        for (int k = 0; k < 8; k++) {
            scale[k][r] = s.scale[k];
        }
        d[r] = s.d;
        turned[r] = bytes[r];
    }
    for (size_t i = 0; i < 8; i++) {
        vv_turn(turned, 16 * i, to->w + 4 * i);
    }
    for (int k = 0; k < 8; k++) {
        for (int r = 0; r < VV_WIDTH; r++) {
            to->scale[k][r] = (uint32_t)(int32_t)scale[k][r];
        }
    }
    for (int p = 0; p < 4; p++) {
        to->pair[p] = (to->scale[2 * p] & 0xffff) | to->scale[2 * p + 1] << 16;
    }
    memcpy(&to->d[0], d, sizeof d);
}
