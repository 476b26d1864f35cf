/* Against the nearest half in double precision: 11 bits, steps of 2^-24 below 2^-14, ties to even.
 */
#include "base/half.h"
#include "op/check_support.h"
#include "op/round_half/contract.h"
#include "op/round_half/internal.h"

enum reading { NEAREST, CUT_OFF, TIES_AWAY, BFLOAT16, READINGS };
static const char *const reading_name[READINGS] = {"nearest", "cut off", "ties away from zero",
                                                   "bfloat16"};

static float rounded(float x, enum reading how) {
    int exponent;
    frexp((double)x, &exponent);
    double step = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11), whole = (double)x / step;
    double low = floor(whole), rest = whole - low;
    switch (how) {
    case CUT_OFF:
        return (float)(trunc(whole) * step);
    case TIES_AWAY:
        return (float)(round(whole) * step);
    case BFLOAT16:
        return vv_from_bf16(vv_to_bf16(x));
    default:
        low += rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0);
        return copysignf((float)(low * step), x);
    }
}

/* Values of all sizes that a half can have; of five one is a tie. */
static float *values(struct vv_check *check, size_t n) {
    float *x = vv_check_adversarial(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = fabsf(x[i]) < 65519.0f ? x[i] : 65519.0f;
        if (i % 5 == 0) {
            x[i] = ldexpf((float)(1024 + vv_check_below(check, 1024)) + 0.5f,
                          (int)vv_check_below(check, 24) - 20);
        }
    }
    return x;
}

static void one(struct vv_check *check, int32_t rows, size_t width) {
    size_t n = (size_t)rows * width;
    float *x = values(check, n), *before = vv_check_floats(check, n);
    float *other = vv_check_floats(check, n);
    memcpy(before, x, n * sizeof *x);
    struct vv_round_half a = {x, width, {&rows, 1}};
    vv_check_variants(check, &vv_round_half, &a, "%d rows of %zu", rows, width);
    for (int how = NEAREST; how < (n > 500 ? READINGS : CUT_OFF); how++) {
        for (size_t i = 0; i < n; i++) {
            other[i] = rounded(before[i], (enum reading)how);
        }
        if (how == NEAREST) {
            vv_check_true(check, memcmp(x, other, n * sizeof *x) == 0,
                          "%d rows of %zu: not the nearest half", rows, width);
        } else {
            vv_check_misreading(check, reading_name[how], x, other, n, 1e-5);
        }
    }
    vv_check_reset(check);
}

void vv_round_half_check(struct vv_check *check) {
    static const float bad[] = {65520.0f, -1e30f, INFINITY, NAN};
    static const size_t widths[] = {1, 7, 16, 88, 129, 512};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows++) {
            one(check, rows, widths[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t rows = 2;
        struct vv_round_half a = {vv_check_normals(check, 18), 9, {&rows, 1}};
        a.x[17] = bad[i];
        vv_check_refuses(check, &vv_round_half, &a, VV_ERROR_NOT_FINITE, "%g", (double)bad[i]);
        vv_check_reset(check);
    }
}
