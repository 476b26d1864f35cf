/*
 * IQ2_XXS on AVX-512 with permutations of bytes (VBMI). A row of the grid has eight values out of
 * three: two bytes of codes. 256 such rows are 512 bytes, which eight registers hold, and signs
 * come from two more, so sixteen weight rows are unpacked without a load for each.
 */
#pragma once
#include "quant/panel/unpack.h"

/* clang-format off */
/* vv_iq2xxs_grid, values 0 .. 3 of its rows, then 4 .. 7: 8, 25 and 43 as codes 0, 1 and 2, that of
 * value i from bit 2i on. */
static const uint8_t iq2xxs_codes[2][256] = {
    {0, 2, 5, 8, 10, 17, 20, 32, 34, 40, 42, 65, 68, 80, 88, 97, 100, 128, 130, 138, 162, 1, 4,
     16, 21, 64, 132, 152, 0, 2, 34, 130, 1, 4, 16, 33, 36, 64, 66, 72, 96, 129, 132, 144, 164, 0,
     2, 8, 32, 70, 105, 128, 145, 9, 16, 64, 132, 164, 0, 5, 8, 20, 40, 65, 68, 80, 82, 136, 4,
     64, 2, 20, 1, 4, 16, 33, 64, 96, 132, 144, 149, 0, 8, 32, 80, 90, 128, 36, 69, 0, 8, 32, 37,
     73, 128, 24, 98, 0, 22, 1, 4, 16, 64, 129, 0, 5, 160, 81, 0, 2, 10, 68, 97, 128, 130, 41, 72,
     0, 2, 1, 4, 16, 64, 86, 0, 65, 100, 144, 8, 32, 148, 68, 1, 4, 16, 24, 33, 36, 64, 72, 86,
     96, 129, 132, 144, 0, 32, 97, 128, 133, 1, 16, 72, 86, 104, 0, 8, 32, 128, 153, 18, 36, 0, 1,
     4, 16, 64, 69, 0, 88, 97, 130, 69, 144, 0, 8, 17, 25, 32, 128, 136, 4, 66, 164, 145, 144,
     146, 10, 1, 84, 0, 17, 25, 100, 64, 8, 4, 16, 64, 104, 0, 85, 24, 96, 0, 5, 16, 18, 132, 66,
     0, 2, 10, 65, 130, 4, 24, 64, 17, 1, 4, 16, 21, 64, 96, 0, 70, 148, 9, 64, 96, 2, 4, 17, 4,
     16, 36, 64, 161, 22, 128, 69, 0, 34, 68, 81, 129, 32, 2, 80, 133, 9, 0, 24, 80, 4},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
     2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 8, 8, 8, 8,
     8, 8, 8, 8, 8, 8, 9, 9, 10, 10, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 17,
     18, 18, 20, 20, 20, 20, 20, 20, 21, 21, 22, 22, 24, 24, 24, 24, 24, 25, 25, 25, 26, 32, 32,
     32, 32, 32, 32, 32, 33, 33, 34, 34, 36, 36, 36, 36, 36, 37, 37, 37, 38, 40, 40, 40, 42, 64,
     64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 65, 65, 65, 65, 65, 66, 66, 66, 66, 66, 68,
     68, 68, 68, 68, 69, 69, 70, 72, 72, 72, 72, 72, 73, 73, 73, 73, 74, 74, 80, 80, 80, 80, 80,
     80, 80, 81, 81, 81, 82, 84, 84, 85, 86, 86, 88, 88, 88, 88, 89, 90, 96, 96, 96, 96, 97, 97,
     98, 98, 100, 100, 101, 101, 101, 104, 128, 128, 128, 128, 128, 129, 129, 129, 130, 132, 132,
     132, 132, 132, 132, 133, 133, 133, 134, 134, 134, 136, 137, 138, 144, 144, 144, 144, 144,
     145, 145, 146, 148, 148, 148, 149, 152, 153, 160, 160, 160, 161, 162, 164, 168, 169}};
/* clang-format on */

/* Every byte of `index` becomes table[it]. */
VV_INLINE __m512i of_128(const uint8_t *table, __m512i index) {
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index,
                                    _mm512_loadu_si512(table + 64));
}

VV_INLINE __m512i of_256(const uint8_t *table, __m512i index) {
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), of_128(table, index),
                                  of_128(table + 128, index));
}

/* Byte j of each lane = the eight bits of it that begin with bit (at + step * j) mod 32, the other
 * lane of a pair lying behind. */
VV_INLINE __m512i bits_from(__m512i v, int at, int step) {
    uint64_t from = 0;
    for (int j = 0; j < 8; j++) {
        from |= (uint64_t)((at + step * (j % 4) + 32 * (j / 4)) & 63) << 8 * j;
    }
    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64((int64_t)from), v);
}

/* 32 values a lane: four numbers of rows in `rows`, four of signs in `signs`. */
VV_INLINE void iq2_xxs_group(__m512i rows, __m512i signs, vv_lanes *w /* [8] */) {
    /* Three bits: a code, and above it the sign. Values are shifted by 64. */
    const __m512i values = _mm512_set1_epi64(0x40152738406b5948);
    const __m512i low_two = _mm512_set1_epi8(3);
    __m512i sign = of_128(vv_iq_signs, bits_from(signs, 0, 7));
    __m512i half[2] = {of_256(iq2xxs_codes[0], rows), of_256(iq2xxs_codes[1], rows)};
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < 2; i++) {
            __m512i code = bits_from(half[i], 8 * r, 2);
            __m512i negative = bits_from(sign, 8 * r + 4 * i - 2, 1); /* as bit 2 */
            code = _mm512_ternarylogic_epi32(low_two, code, negative, 0xca);
            w[2 * r + i] = (vv_lanes)_mm512_permutexvar_epi8(code, values);
        }
    }
}

static void fill_iq2_xxs(const struct vv_panel_source *g, size_t segment, size_t values,
                         struct vv_panel *panel) {
    struct vv_strip *to = &panel->strip[0];
    vv_lanes v[8];
    const size_t block = segment / 2 * VV_BLOCK_BYTES_IQ2_XXS;
    (void)values;
    vv_turn(g->at, block + 2 + 32 * (segment % 2), v);
    vv_turn(g->at, block + 18 + 32 * (segment % 2), v + 4);
    for (int k = 0; k < 4; k++) {
        iq2_xxs_group((__m512i)v[2 * k], (__m512i)v[2 * k + 1], to->w + 8 * k);
        vv_panel_iq2_xxs_scale(&v[2 * k + 1], k, to);
    }
    vv_panel_iq2_xxs_d(g->at, block, to);
}
