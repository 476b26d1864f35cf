/*
 * Block formats: values as ggml decodes them, segments of rows in any order of blocks, bad scales;
 * case C021 of docs/cases.md.
 */
#include "support/quant_golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/data/quant"

static void values_are_ggmls(void **state) {
    (void)state;
    struct golden g = {0};
    quant_golden_run(&g, FOLDER);
    assert_int_equal(g.failed, 0);
    assert_true(g.passed > 250);
}

static bool holds_weights(int type) {
    return type != VV_TYPE_I8 && type != VV_TYPE_I16 && type != VV_TYPE_I32 &&
           type != VV_TYPE_I64 && type != VV_TYPE_F64;
}

static void sizes_are_the_files(void **state) {
    (void)state;
    for (size_t i = 0; vv_type_at(i); i++) {
        const struct vv_type_info *info = vv_type_at(i);
        const struct vv_format *f = vv_format(info->type);
        if (!holds_weights(info->type)) {
            assert_null(f);
            continue;
        }
        assert_non_null(f);
        assert_int_equal(f->block_values, info->block_values);
        assert_int_equal(f->block_bytes, info->block_bytes);
        assert_string_equal(f->name, info->name);
    }
    assert_null(vv_format(-1));
}

/* Two blocks of 64 values with one scale are one block of 128. */
static void long_q2_0_is_q2_0(void **state) {
    (void)state;
    struct golden g = {0};
    const struct vv_format *f = vv_format(VV_TYPE_Q2_0), *fork = vv_format(VV_TYPE_Q2_0_128);
    size_t rows;
    const uint8_t *blocks = quant_golden_blocks(&g, FOLDER, f, &rows);
    assert_non_null(blocks);
    for (size_t b = 0; b < rows * 4; b += 2) {
        uint8_t two[36], one[34];
        float want[128], got[128];
        memcpy(two, blocks + b * 18, sizeof two);
        memcpy(two + 18, two, 2);
        memcpy(one, two, 18);
        memcpy(one + 18, two + 20, 16);
        f->decode(two, want, 128);
        fork->decode(one, got, 128);
        assert_memory_equal(got, want, sizeof want);
    }
    golden_close(&g);
}

/* What a segment holds, as values; computed in double where the format's own order would matter. */
static double segment_value(const struct vv_format *f, const struct vv_segment *s, size_t i) {
    if (f->step == 0) {
        double min = f->has_offset ? (double)s->dmin * s->min[i / 16] : 0.0;
        return (double)s->d * s->scale[i / 16] * s->w[i] - min;
    }
    double offset = f->has_offset ? (double)s->step_m[i / f->step] : 0.0;
    return (double)s->step_d[i / f->step] * s->w[i] + offset;
}

/* Every segment of a row of 256 values, blocks side by side or far apart, cut at every block. */
static void check_segments(const struct vv_format *f, const uint8_t *blocks) {
    uint8_t apart[8 * 320];
    float value[256];
    size_t gap = f->block_bytes + 13;
    f->decode(blocks, value, 256);
    for (size_t b = 0; b < 256 / f->block_values; b++) {
        memcpy(apart + b * gap, blocks + b * f->block_bytes, f->block_bytes);
    }
    for (size_t width = f->block_values; width <= 256; width += f->block_values) {
        for (size_t s = 0; 128 * s < width; s++) {
            size_t n = width - 128 * s < 128 ? width - 128 * s : 128;
            struct vv_segment near, far;
            f->unpack(blocks, f->block_bytes, s, n, &near);
            f->unpack(apart, gap, s, n, &far);
            for (size_t i = 0; i < n; i++) {
                double want = (double)value[128 * s + i], got = segment_value(f, &near, i);
                assert_true(fabs(got - want) <= 1e-6 * fabs(want) + 1e-6);
                assert_true(got == segment_value(f, &far, i));
                assert_in_range(near.w[i] + 128, 0, 255);
            }
        }
    }
}

static void segments_are_the_values(void **state) {
    (void)state;
    for (size_t i = 0; vv_format_at(i); i++) {
        const struct vv_format *f = vv_format_at(i);
        if (f->unpack && f->type != VV_TYPE_Q2_0_128) {
            struct golden g = {0};
            size_t rows;
            const uint8_t *blocks = quant_golden_blocks(&g, FOLDER, f, &rows);
            check_segments(f, blocks);                                                /* gaussian */
            check_segments(f, blocks + 2 * (256 / f->block_values) * f->block_bytes); /* random */
            golden_close(&g);
        }
    }
}

/* Where each format keeps half-precision scales, in bytes from the block's start. */
static const struct {
    int type;
    int at[2];
} halves[] = {
    {VV_TYPE_Q4_0, {0, -1}},    {VV_TYPE_Q4_1, {0, 2}},      {VV_TYPE_Q5_0, {0, -1}},
    {VV_TYPE_Q5_1, {0, 2}},     {VV_TYPE_Q8_0, {0, -1}},     {VV_TYPE_Q2_K, {80, 82}},
    {VV_TYPE_Q3_K, {108, -1}},  {VV_TYPE_Q4_K, {0, 2}},      {VV_TYPE_Q5_K, {0, 2}},
    {VV_TYPE_Q6_K, {208, -1}},  {VV_TYPE_IQ2_XXS, {0, -1}},  {VV_TYPE_IQ2_XS, {0, -1}},
    {VV_TYPE_IQ3_XXS, {0, -1}}, {VV_TYPE_IQ1_S, {0, -1}},    {VV_TYPE_IQ4_NL, {0, -1}},
    {VV_TYPE_IQ3_S, {0, -1}},   {VV_TYPE_IQ2_S, {0, -1}},    {VV_TYPE_IQ4_XS, {0, -1}},
    {VV_TYPE_TQ1_0, {52, -1}},  {VV_TYPE_TQ2_0, {64, -1}},   {VV_TYPE_Q1_0, {0, -1}},
    {VV_TYPE_Q2_0, {0, -1}},    {VV_TYPE_Q2_0_128, {0, -1}}, {VV_TYPE_F16, {0, -1}},
    {VV_TYPE_BF16, {0, -1}},
};

static void bad_scales_are_found(void **state) {
    (void)state;
    enum { BLOCKS = 5, BAD = 3 };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const struct vv_format *f = vv_format(halves[i].type);
        for (int k = 0; k < 2 && halves[i].at[k] >= 0; k++) {
            uint8_t blocks[BLOCKS * 320];
            memset(blocks, 0x11, sizeof blocks);
            assert_int_equal(vv_first_bad_block(f, blocks, BLOCKS), BLOCKS);
            uint8_t *scale = blocks + BAD * f->block_bytes + halves[i].at[k];
            bool wide = f->type == VV_TYPE_BF16;
            memcpy(scale, wide ? "\x80\xff" : "\x00\xfc", 2); /* -infinity */
            assert_int_equal(vv_first_bad_block(f, blocks, BLOCKS), BAD);
            memcpy(scale, wide ? "\xc1\x7f" : "\x01\x7e", 2); /* NaN */
            assert_int_equal(vv_first_bad_block(f, blocks, BLOCKS), BAD);
            assert_int_equal(vv_first_bad_block(f, blocks, BAD), BAD);
        }
    }
}

/* IQ1_M's scale is spread over four words; MXFP4's and NVFP4's bytes are always numbers. */
static void bad_scales_in_odd_places(void **state) {
    (void)state;
    uint8_t blocks[3 * 56];
    memset(blocks, 0x11, sizeof blocks);
    const struct vv_format *f = vv_format(VV_TYPE_IQ1_M);
    assert_int_equal(vv_first_bad_block(f, blocks, 3), 3);
    blocks[2 * 56 + 48 + 7] = 0x71; /* d = 0x7111 */
    assert_int_equal(vv_first_bad_block(f, blocks, 3), 3);
    blocks[2 * 56 + 48 + 5] = 0xc1; /* d = 0x7c11: NaN */
    assert_int_equal(vv_first_bad_block(f, blocks, 3), 2);
    memset(blocks, 0xff, sizeof blocks);
    assert_int_equal(vv_first_bad_block(vv_format(VV_TYPE_MXFP4), blocks, 3), 3);
    assert_int_equal(vv_first_bad_block(vv_format(VV_TYPE_NVFP4), blocks, 3), 3);
    float value[3] = {1.0f, NAN, INFINITY};
    assert_int_equal(vv_first_bad_block(vv_format(VV_TYPE_F32), value, 3), 1);
}

/* The sub-scale (of 16 values) of Q3_K that a bit of its twelve packed bytes belongs to: the
 * nibbles of byte k are the low bits of k and k + 8; byte 8 + k has the high bits of k, k + 4, k +
 * 8, k + 12.
 */
static size_t q3_k_scale_of(size_t bit) {
    size_t byte = bit / 8, in_byte = bit % 8;
    return byte < 8 ? byte + in_byte / 4 * 8 : byte - 8 + in_byte / 2 * 4;
}

static bool all_zero(const float *x) {
    bool zero = true;
    for (size_t i = 0; i < 16; i++) {
        zero = zero && x[i] == 0;
    }
    return zero;
}

/* All twelve bytes count, the last one too: each bit changes its sub-scale's values and no others.
 * That the values themselves are right is tested below. */
static void c021_every_packed_scale_of_q3_k_counts(void **state) {
    (void)state;
    enum { SCALES = 96, PACKED = 12, BLOCK = 110 };
    struct golden g = {0};
    const struct vv_format *f = vv_format(VV_TYPE_Q3_K);
    size_t rows, twelfth = 0, counted[PACKED] = {0};
    const uint8_t *blocks = quant_golden_blocks(&g, FOLDER, f, &rows);
    assert_int_equal(f->block_bytes, BLOCK);
    for (size_t r = 0; r < rows; r++) {
        float value[256], other[256];
        f->decode(blocks + r * BLOCK, value, 256);
        twelfth += blocks[r * BLOCK + SCALES + PACKED - 1] != 0;
        for (size_t bit = 0; bit < 8 * PACKED; bit++) {
            uint8_t block[BLOCK];
            memcpy(block, blocks + r * BLOCK, BLOCK);
            block[SCALES + bit / 8] ^= (uint8_t)(1u << bit % 8);
            f->decode(block, other, 256);
            for (size_t s = 0; s < 16; s++) {
                const float *a = value + 16 * s, *b = other + 16 * s;
                bool changed = memcmp(a, b, 16 * sizeof *a) != 0;
                bool its_own = s == q3_k_scale_of(bit);
                assert_true(changed ? its_own : !its_own || (all_zero(a) && all_zero(b)));
                counted[bit / 8] += changed;
            }
        }
    }
    assert_true(twelfth > 0);
    for (size_t k = 0; k < PACKED; k++) {
        assert_true(counted[k] > 4 * rows);
    }
    golden_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c021_every_packed_scale_of_q3_k_counts),
        cmocka_unit_test(values_are_ggmls),
        cmocka_unit_test(sizes_are_the_files),
        cmocka_unit_test(long_q2_0_is_q2_0),
        cmocka_unit_test(segments_are_the_values),
        cmocka_unit_test(bad_scales_are_found),
        cmocka_unit_test(bad_scales_in_odd_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
