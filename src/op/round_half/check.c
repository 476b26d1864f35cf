/* Against the nearest half in double precision: 11 bits, steps of 2^-24 below 2^-14, ties to even.
 */
#include "op/check_support.h"
#include "op/round_half/contract.h"
#include "op/round_half/internal.h"

static float nearest(float x) {
    int exponent;
    frexp((double)x, &exponent);
    double step = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11), whole = (double)x / step;
    double low = floor(whole), rest = whole - low;
    low += rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0);
    return copysignf((float)(low * step), x);
}

static void one(struct vv_check *check, int32_t rows, size_t width) {
    size_t n = (size_t)rows * width;
    float *x = vv_check_adversarial(check, n), *want = vv_check_floats(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = fabsf(x[i]) < 65519.0f ? x[i] : 65519.0f;
        if (i % 5 == 0) { /* a tie: a step more and a half of one */
            x[i] = ldexpf((float)(1024 + vv_check_below(check, 1024)) + 0.5f,
                          (int)vv_check_below(check, 24) - 20);
        }
        want[i] = nearest(x[i]);
    }
    struct vv_round_half a = {x, width, {&rows, 1}};
    vv_check_variants(check, &vv_round_half, &a, "%d rows of %zu", rows, width);
    vv_check_true(check, memcmp(x, want, n * sizeof *x) == 0,
                  "%d rows of %zu: not the nearest half", rows, width);
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
