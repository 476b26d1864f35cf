/* Encoders: how near they come, what they make of difficult values, what they refuse. */
#include "quant/format.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROW = 256, ROWS = 256 };

/* Relative RMS error of ggml's encoder on standard normal values, without regard to their size (an
 * importance matrix of ones), measured once on 262,144 values; and which share of it ours has to
 * reach, a thousandth more than it does. */
static const struct {
    int type;
    double error, share;
} yardstick[] = {
    {VV_TYPE_F32, 0, 1},
    {VV_TYPE_F16, 0.000208, 1.01},
    {VV_TYPE_BF16, 0.001663, 1.01},
    {VV_TYPE_Q4_0, 0.081579, 0.9925},
    {VV_TYPE_Q4_1, 0.069876, 0.9885},
    {VV_TYPE_Q5_0, 0.040396, 0.9957},
    {VV_TYPE_Q5_1, 0.033782, 0.995},
    {VV_TYPE_Q8_0, 0.005349, 0.926},
    {VV_TYPE_Q2_K, 0.267763, 0.9715},
    {VV_TYPE_Q3_K, 0.144323, 0.9922},
    {VV_TYPE_Q4_K, 0.070727, 0.989},
    {VV_TYPE_Q5_K, 0.035362, 0.9895},
    {VV_TYPE_Q6_K, 0.017292, 0.9687},
    {VV_TYPE_IQ4_NL, 0.074877, 0.977},
    {VV_TYPE_IQ4_XS, 0.075554, 0.9756},
    {VV_TYPE_MXFP4, 0.114947, 0.9685},
};
enum { ENCODERS = sizeof yardstick / sizeof *yardstick };

/* ---- values ---- */

static uint64_t seed;

/* splitmix64 */
static uint64_t random_bits(void) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void) {
    return ((double)(random_bits() >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) {
    double r = sqrt(-2 * log(uniform()));
    return r * cos(6.283185307179586 * uniform());
}

static double energy(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sum;
}

static double distance(const float *x, const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)y[i];
        sum += d * d;
    }
    return sum;
}

/* Encodes and decodes; the blocks must be sound, and nothing be written beyond them. */
static void there_and_back(const struct vv_format *f, const float *x, float *y, size_t n) {
    size_t bytes = n / f->block_values * f->block_bytes;
    uint8_t *blocks = malloc(bytes + 1);
    assert_non_null(blocks);
    memset(blocks, 0xa5, bytes + 1);
    assert_int_equal(vv_first_unfit(f, x, n), n);
    f->encode(x, blocks, n);
    assert_int_equal(blocks[bytes], 0xa5);
    assert_int_equal(vv_first_bad_block(f, blocks, n / f->block_values), n / f->block_values);
    f->decode(blocks, y, n);
    free(blocks);
}

/* ---- tests ---- */

static void there_is_an_encoder_for_each(void **state) {
    (void)state;
    size_t found = 0;
    for (size_t i = 0; vv_format_at(i); i++) {
        found += vv_format_at(i)->encode != NULL;
        assert_true((vv_format_at(i)->encode != NULL) == (vv_format_at(i)->largest > 0));
    }
    assert_int_equal(found, ENCODERS);
    for (size_t i = 0; i < ENCODERS; i++) {
        assert_non_null(vv_format(yardstick[i].type)->encode);
    }
}

static double relative_error(const struct vv_format *f, double sigma) {
    static float x[ROWS * ROW], y[ROWS * ROW];
    seed = 1;
    for (size_t i = 0; i < ROWS * ROW; i++) {
        x[i] = (float)(sigma * normal());
    }
    there_and_back(f, x, y, ROWS * ROW);
    return sqrt(distance(x, y, ROWS * ROW) / energy(x, ROWS * ROW));
}

static void normal_values(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        double most = yardstick[i].share * yardstick[i].error;
        assert_true(relative_error(f, 1) <= most);
        assert_true(relative_error(f, 0.02) <= most + 0.005 * yardstick[i].error);
    }
}

/* Fills a row with one of several kinds of difficult values, none larger than `largest`. */
enum { KINDS = 13 };

static void difficult_row(float *x, int n, float largest) {
    int kind = n % KINDS;
    float size = (float)ldexp(1, (int)(random_bits() % 60) - 40);
    for (size_t i = 0; i < ROW; i++) {
        float g = (float)normal(), sign = random_bits() & 1 ? -1.0f : 1.0f;
        switch (kind) {
        case 0: /* zeros */
            x[i] = sign * 0.0f;
            break;
        case 1: /* one value everywhere */
            x[i] = size;
            break;
        case 2:
            x[i] = -size;
            break;
        case 3: /* one outlier */
            x[i] = i == 77 ? 1000 * size : size * g;
            break;
        case 4: /* one value alone */
            x[i] = i == 200 ? -size : 0;
            break;
        case 5: /* denormal floats */
            x[i] = sign * (float)(random_bits() % 1000) * FLT_TRUE_MIN;
            break;
        case 12: /* about the smallest normal float */
            x[i] = sign * (float)ldexp(1.5 * uniform() * uniform(), -126 + n % 4);
            break;
        case 6: /* magnitudes from far below to far above the halves */
            x[i] = sign * (float)ldexp(1, (int)(random_bits() % 70) - 60);
            break;
        case 7: /* the largest, both signs */
            x[i] = sign * largest;
            break;
        case 8: /* near it */
            x[i] = sign * largest * (float)uniform();
            break;
        case 9: /* all of one sign, far from zero */
            x[i] = 100 * size + size * g;
            break;
        case 10: /* ternary */
            x[i] = sign * size * (float)(random_bits() & 1);
            break;
        default: /* groups of very different size */
            x[i] = size * (float)ldexp((double)g, -(int)(i / 16));
        }
        x[i] = fminf(fmaxf(x[i], -largest), largest);
    }
}

/* What is left is never more than what zeros would leave. */
static void difficult_values(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        seed = 2;
        for (int n = 0; n < 40 * KINDS; n++) {
            float x[ROW], y[ROW];
            difficult_row(x, n, f->largest);
            there_and_back(f, x, y, ROW);
            double left = distance(x, y, ROW), all = energy(x, ROW);
            assert_true(left <= all * (1 + 1e-6));
        }
    }
}

static void zeros_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const float x[ROW] = {0};
        float y[ROW];
        there_and_back(vv_format(yardstick[i].type), x, y, ROW);
        assert_true(energy(y, ROW) == 0);
    }
}

/* A constant comes back within half a step of the scale's precision, whatever its sign. */
static void constants_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        for (int sign = -1; sign <= 1; sign += 2) {
            float x[ROW], y[ROW];
            for (size_t k = 0; k < ROW; k++) {
                x[k] = (float)sign * 0.1f;
            }
            there_and_back(f, x, y, ROW);
            double worst = f->type == VV_TYPE_MXFP4 ? 0.25 : f->type == VV_TYPE_BF16 ? 4e-3 : 1e-3;
            for (size_t k = 0; k < ROW; k++) {
                assert_true(fabs((double)y[k] / (double)x[k] - 1) <= worst);
            }
        }
    }
}

/* One value that dwarfs the others keeps its size. */
static void an_outlier_stays(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        for (int sign = -1; sign <= 1; sign += 2) {
            float x[ROW], y[ROW];
            seed = 3;
            for (size_t k = 0; k < ROW; k++) {
                x[k] = k == 100 ? (float)sign * 50 : (float)normal() * 0.01f;
            }
            there_and_back(f, x, y, ROW);
            double worst = f->type == VV_TYPE_MXFP4 ? 0.05 : 4e-3;
            assert_true(fabs((double)y[100] / (double)x[100] - 1) <= worst);
        }
    }
}

/* Where all values are positive, an offset that can't be is no help: codes begin at zero. */
static void values_of_one_sign(void **state) {
    (void)state;
    static const struct {
        int type;
        double levels; /* of one sign */
    } types[] = {{VV_TYPE_Q4_0, 8},  {VV_TYPE_Q5_0, 16}, {VV_TYPE_Q8_0, 127}, {VV_TYPE_Q2_K, 3},
                 {VV_TYPE_Q3_K, 4},  {VV_TYPE_Q4_K, 15}, {VV_TYPE_Q5_K, 31},  {VV_TYPE_Q6_K, 32},
                 {VV_TYPE_Q4_1, 15}, {VV_TYPE_Q5_1, 31}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        float x[ROW], y[ROW];
        seed = 6;
        for (size_t k = 0; k < ROW; k++) {
            x[k] = 1 + (float)uniform();
        }
        there_and_back(vv_format(types[i].type), x, y, ROW);
        double step = 2 / types[i].levels; /* of equal ones, which leave step^2 / 12 a value */
        assert_true(distance(x, y, ROW) <= 0.9 * ROW * step * step / 12);
    }
}

/* What is called the largest magnitude can be held, alone in its block and of either sign, and so
 * can all less. */
static void the_largest_is_held(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        for (float share = -1; share <= 1; share += 0.125f) {
            float x[ROW] = {[70] = share * f->largest}, y[ROW];
            there_and_back(f, x, y, ROW);
            double worst = f->type == VV_TYPE_MXFP4 ? 0.15 : 0.005;
            assert_true(fabs((double)y[70] - (double)x[70]) <= worst * fabs((double)x[70]));
            assert_true(energy(y, ROW) <= energy(x, ROW) * 1.4);
        }
    }
}

/* Values so small that scales and sub-scales are the smallest there are, are not lost: multiples of
 * the smallest half, up to the hundredth. */
static void small_values_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        float x[ROW], y[ROW];
        seed = 4;
        for (size_t k = 0; k < ROW; k++) {
            x[k] = (float)((int)(random_bits() % 201) - 100) * 0x1p-24f;
        }
        there_and_back(f, x, y, ROW);
        assert_true(distance(x, y, ROW) <= 0.15 * energy(x, ROW));
    }
}

static void what_does_not_fit_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        const float beyond = nextafterf(f->largest, INFINITY);
        const float bad[] = {NAN, -NAN, INFINITY, -INFINITY, beyond, -beyond};
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            float x[ROW] = {[3] = f->largest, [9] = -f->largest, [200] = bad[b], [201] = bad[b]};
            assert_int_equal(vv_first_unfit(f, x, ROW), 200);
            assert_int_equal(vv_first_unfit(f, x, 200), 200);
        }
    }
}

/* What was decoded is found again, or nearly so. */
static void encoded_again(void **state) {
    (void)state;
    static float x[ROWS * ROW], y[ROWS * ROW], z[ROWS * ROW];
    seed = 7;
    for (size_t i = 0; i < ROWS * ROW; i++) {
        x[i] = (float)normal();
    }
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        there_and_back(f, x, y, ROWS * ROW);
        there_and_back(f, y, z, ROWS * ROW);
        assert_true(distance(y, z, ROWS * ROW) <= 0.02 * distance(x, y, ROWS * ROW));
    }
}

/* Blocks don't depend on what lies beside them. */
static void blocks_are_independent(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        const struct vv_format *f = vv_format(yardstick[i].type);
        float x[2 * ROW];
        uint8_t together[2 * ROW * 4], apart[2 * ROW * 4];
        seed = 5;
        for (size_t k = 0; k < 2 * ROW; k++) {
            x[k] = (float)normal();
        }
        f->encode(x, together, 2 * ROW);
        size_t blocks = 2 * ROW / f->block_values;
        for (size_t b = 0; b < blocks; b++) {
            f->encode(x + b * f->block_values, apart + b * f->block_bytes, f->block_values);
        }
        assert_memory_equal(together, apart, blocks * f->block_bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_an_encoder_for_each),
        cmocka_unit_test(normal_values),
        cmocka_unit_test(difficult_values),
        cmocka_unit_test(zeros_stay),
        cmocka_unit_test(constants_stay),
        cmocka_unit_test(an_outlier_stays),
        cmocka_unit_test(values_of_one_sign),
        cmocka_unit_test(the_largest_is_held),
        cmocka_unit_test(small_values_stay),
        cmocka_unit_test(what_does_not_fit_is_found),
        cmocka_unit_test(encoded_again),
        cmocka_unit_test(blocks_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
