/*
 * Data are chosen so that the usual mistakes show: values half way between integers after scaling
 * (rounding, a division by the scale), units on both sides of the limits, a huge value in one unit
 * beside small ones (a unit's scale used for its neighbour).
 */
#include "op/quantize_rows/check_planes.h"
#include "op/quantize_rows/internal.h"

#include <math.h>

void vv_quantize_rows_check(struct vv_check *check);

enum kind { NORMAL, WILD, HALVES, LIMITS, ZEROS, TINY, HUGE_ONES, KINDS };
static const char *const kind_name[KINDS] = {"normal", "wild", "halves",    "limits",
                                             "zeros",  "tiny", "up to 2^80"};

/* Values that lie half way between two multiples of the unit's scale, as near as floats can. */
static void fill_halves(struct vv_check *check, float *x, size_t n, size_t unit) {
    float top = 1.0f;
    for (size_t i = 0; i < n; i++) {
        float steps = (float)vv_check_below(check, 126) + 0.5f;
        top = i % unit == 0 ? vv_check_uniform(check, 0.5f, 2.0f) : top;
        x[i] = steps * (top / 127.0f) * (vv_check_below(check, 2) ? 1.0f : -1.0f);
        x[i] = i % unit == 7 ? top : x[i];
    }
}

/* One value of a unit at the lower limit, the others below; the next unit just under it. */
static void fill_limits(struct vv_check *check, float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float top = i / 32 % 2 ? 0x1.fffffep-61f : 0x1p-60f;
        x[i] = i % 32 == 9 ? -top : top * vv_check_uniform(check, -1.0f, 1.0f);
    }
}

static float *fill(struct vv_check *check, enum kind kind, size_t n) {
    if (kind == WILD) {
        return vv_check_adversarial(check, n);
    }
    float *x = vv_check_normals(check, n);
    if (kind == HALVES) {
        fill_halves(check, x, n, vv_check_below(check, 2) ? VV_COARSE_UNIT : VV_FINE_UNIT);
    } else if (kind == LIMITS) {
        fill_limits(check, x, n);
    }
    for (size_t i = 0; i < n; i++) {
        switch (kind) {
        case ZEROS:
            x[i] = i % 2 ? 0.0f : -0.0f;
            break;
        case TINY:
            x[i] = i % 32 == 5 ? 1.0f : x[i] * 0x1p-140f;
            break;
        case HUGE_ONES:
            x[i] *= i % 64 < 32 ? 0x1p+70f : 0x1p-10f;
            x[i] = i % 256 == 3 ? 0x1.fffffep+79f : x[i];
            break;
        default:
            break;
        }
    }
    return x;
}

static void check_case(struct vv_check *check, enum kind kind, size_t rows, size_t width,
                       unsigned sets) {
    int32_t count = (int32_t)rows;
    float *x = fill(check, kind, rows * width);
    struct vv_quantize_rows args = {vv_check_planes(check, x, rows, width, sets), {&count, 1}};
    vv_check_variants(check, &vv_quantize_rows, &args, "%s, %zu x %zu, sets %u", kind_name[kind],
                      rows, width, sets);
    vv_check_reset(check);
}

static void check_refusals(struct vv_check *check, size_t width, unsigned sets) {
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY, 0x1p+80f, -0x1p+80f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t count = 3;
        float *x = vv_check_normals(check, 3 * width);
        struct vv_quantize_rows args = {vv_check_planes(check, x, 3, width, sets), {&count, 1}};
        size_t at = i % 2 ? 3 * width - 1 : vv_check_below(check, 3 * width);
        x[at] = bad[i];
        vv_check_refuses(check, &vv_quantize_rows, &args, VV_ERROR_NOT_FINITE,
                         "%g at %zu of 3 x %zu, sets %u", (double)bad[i], at, width, sets);
        vv_check_reset(check);
    }
}

/* ---- misreadings ---- */

enum misreading {
    RIGHT,
    DIVIDE_BY_SCALE, /* x / scale */
    AWAY_FROM_ZERO,  /* roundf */
    INVERSE_OF_SCALE,
    UNROUNDED, /* the product isn't rounded before rint: an fma with a large constant */
    WIDE_UNIT, /* a scale for each 256 values */
    NEIGHBOUR, /* the scale of the next unit */
    MISREADINGS
};
static const char *const misreading_name[MISREADINGS] = {"",
                                                         "x / scale",
                                                         "ties away from zero",
                                                         "x * (1 / scale)",
                                                         "product not rounded",
                                                         "a scale for twice as many values",
                                                         "the next unit's scale"};

static float amax_of(const float *x, size_t from, size_t to) {
    float amax = 0.0f;
    for (size_t i = from; i < to; i++) {
        amax = fmaxf(amax, fabsf(x[i]));
    }
    return amax;
}

/* q of value i, as a float, read in another way. */
static float misread(enum misreading how, const float *x, size_t width, size_t unit, size_t i) {
    size_t length = how == WIDE_UNIT ? 2 * unit : unit, from = i / length * length;
    from = how == NEIGHBOUR ? (from + unit) % width : from;
    float amax = amax_of(x, from, from + length < width ? from + length : width);
    float scale = amax / 127.0f, inv = 127.0f / amax;
    switch (how) {
    case DIVIDE_BY_SCALE:
        return rintf(x[i] / scale);
    case AWAY_FROM_ZERO:
        return roundf(x[i] * inv);
    case INVERSE_OF_SCALE:
        return rintf(x[i] * (1.0f / scale));
    case UNROUNDED:
        return fmaf(x[i], inv, 0x1.8p+23f) - 0x1.8p+23f;
    default:
        return rintf(x[i] * inv);
    }
}

static void check_misreadings(struct vv_check *check, unsigned set, size_t unit) {
    enum { WIDTH = 2560 };
    int32_t count = 1;
    float *x = vv_check_floats(check, WIDTH);
    fill_halves(check, x, WIDTH, unit);
    float *q = vv_check_floats(check, WIDTH), *wrong = vv_check_floats(check, WIDTH);
    struct vv_quantize_rows args = {vv_check_planes(check, x, 1, WIDTH, set), {&count, 1}};
    const int8_t *made = set == VV_PLANES_FINE ? args.planes.fine_q : args.planes.coarse_q;
    for (enum misreading how = RIGHT; how < MISREADINGS; how++) {
        bool same = true;
        for (size_t i = 0; i < WIDTH; i++) {
            q[i] = made[i];
            wrong[i] = misread(how, x, WIDTH, unit, i);
            same = same && q[i] == wrong[i];
        }
        if (how == RIGHT) {
            vv_check_true(check, same, "the check's own formula differs from the reference");
        } else {
            vv_check_misreading(check, misreading_name[how], q, wrong, WIDTH, 0.0);
        }
    }
    vv_check_reset(check);
}

void vv_quantize_rows_check(struct vv_check *check) {
    static const size_t widths[] = {32, 64, 96, 128, 160, 256, 288, 640, 2560};
    const size_t many = vv_check_quick(check) ? 3 : 8;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            for (size_t rows = 1; rows <= many; rows++) {
                check_case(check, kind, rows, widths[i],
                           2 + 2 * (unsigned)vv_check_below(check, 3));
            }
        }
        check_case(check, kind, 37, 320, VV_PLANES_COARSE | VV_PLANES_FINE);
        check_case(check, kind, 137, 288, VV_PLANES_COARSE | VV_PLANES_FINE);
    }
    for (unsigned sets = VV_PLANES_COARSE; sets <= (VV_PLANES_COARSE | VV_PLANES_FINE); sets += 2) {
        check_refusals(check, 32, sets);
        check_refusals(check, 416, sets);
    }
    for (int i = 0; i < 4; i++) {
        check_misreadings(check, VV_PLANES_COARSE, VV_COARSE_UNIT);
        check_misreadings(check, VV_PLANES_FINE, VV_FINE_UNIT);
    }
}
