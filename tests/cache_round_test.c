/* What the specification of deepseek4 gives as examples of its two roundings (section 10). */
#include "gguf/types.h"
#include "op/cache_round/round.h"
#include "quant/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int32_t one_row = 1, position;
static const struct vv_window window = {.rows = 1, .sequences = 1, .position = &position};

static void fp8_of_the_specification(void **state) {
    (void)state;
    static const float first[] = {-3.5f, 0.6875f, -2.25f, 1.75f, -1.25f, 3.0f, -0.109375f, -3.25f};
    float x[64], sum = 0;
    for (int i = 0; i < 64; i++) {
        x[i] = (float)(37 * i % 64 - 31) * 0.113f;
    }
    const struct vv_round_fp8 a = {x, 64, 64, 1, &window, {&one_row, 1}};
    for (const struct vv_variant *v = vv_round_fp8.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) == 0) {
            assert_int_equal(v->run(&a, 0, 1), VV_OK);
        }
    }
    for (int i = 0; i < 64; i++) {
        sum += x[i];
    }
    assert_memory_equal(x, first, sizeof first);
    assert_true(sum == 3.5f);
}

static void fp4_of_the_specification(void **state) {
    (void)state;
    static const struct {
        int at;
        float value[6];
        int count;
    } known[] = {{0, {3, 0, -0.5f, 0, 0, -1}, 6}, {32, {0, 2, -1, -1}, 4}, {64, {-1, 1, 2, 2}, 4}};
    static const uint8_t scale[] = {127, 127, 128, 127}; /* 1, 1, 2, 1 */
    float x[128], y[128], sum = 0, magnitudes = 0;
    uint8_t blocks[4 * 17];
    for (int i = 0; i < 128; i++) {
        x[i] = (float)(29 * i % 128 - 60) * 0.05f + (i % 9 == 0 ? 1.0f : 0.0f);
    }
    const struct vv_round_fp4 a = {.x = x,
                                   .stride = 128,
                                   .heads = 1,
                                   .width = 128,
                                   .y = blocks,
                                   .ratio = 1,
                                   .window = &window,
                                   .rows = {&one_row, 1}};
    assert_int_equal(vv_round_fp4.variants->run(&a, 0, 1), VV_OK);
    vv_format(VV_TYPE_MXFP4)->decode(blocks, y, 128);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        for (int i = 0; i < known[k].count; i++) {
            assert_true(y[known[k].at + i] == known[k].value[i]);
        }
    }
    for (int i = 0; i < 128; i++) {
        sum += y[i];
        magnitudes += y[i] < 0 ? -y[i] : y[i];
    }
    for (int b = 0; b < 4; b++) {
        assert_int_equal(blocks[17 * b], scale[b]);
    }
    assert_true(sum == -20.0f && magnitudes == 156.0f);
}

/* The largest magnitude over the scale is at most 6, and would be more with half of it. */
static void scales_are_the_smallest_that_do(void **state) {
    (void)state;
    for (int i = -4000; i < 4000; i++) {
        float x[32];
        uint8_t block[17];
        for (int k = 0; k < 32; k++) { /* the transform of equal values is its first one */
            x[k] = ldexpf(1.0f + (float)(i & 255) / 256, i / 256);
        }
        const struct vv_round_fp4 a = {x, 32, 1, 32, block, {0}, 1, &window, {&one_row, 1}};
        assert_int_equal(vv_round_fp4.variants->run(&a, 0, 1), VV_OK);
        float largest = 32 * x[0] * (float)(1 / sqrt(32.0)), s = ldexpf(1, block[0] - 127);
        assert_true(largest / s <= 6 && largest / (s / 2) > 6);
    }
}

/* The nearest of the format's eight magnitudes, of two equally near the one with an even code. */
static void codes_are_the_nearest(void **state) {
    (void)state;
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const uint32_t scale = 127;         /* 1 */
    for (int i = 0; i <= 6 * 64; i++) { /* all that lie half way, and what is next to them */
        const float at = (float)i / 64, near[] = {nextafterf(at, 0), at, nextafterf(at, 6)};
        for (int k = 0; k < 3; k++) {
            uint32_t best = 0;
            for (uint32_t c = 1; c < 8; c++) {
                double distance = fabs(near[k] - magnitudes[c]);
                double least = fabs(near[k] - magnitudes[best]);
                best = distance < least || (distance == least && c % 2 == 0) ? c : best;
            }
            assert_int_equal(vv_e2m1_code(near[k], scale), best);
            assert_int_equal(vv_e2m1_code(-near[k], scale), best + 8);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_of_the_specification),
        cmocka_unit_test(fp4_of_the_specification),
        cmocka_unit_test(scales_are_the_smallest_that_do),
        cmocka_unit_test(codes_are_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
