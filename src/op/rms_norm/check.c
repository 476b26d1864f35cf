/*
 * Bits: ragged widths, gaps between rows and groups, in place and not, values of all magnitudes.
 * Formula: against double precision, and against the ways in which engines have misread it.
 */
#include "op/check_support.h"
#include "op/rms_norm/contract.h"
#include "op/rms_norm/internal.h"

/* Every residue that a vector, a block or a segment can leave, and widths of models. */
static const size_t widths[] = {1,  2,   7,   8,   9,   15,  16,  17,  31,  33,  63,  64,
                                65, 127, 128, 129, 160, 255, 256, 257, 300, 640, 2560};

struct shape {
    int32_t rows;
    size_t groups, width;
    bool in_place, gaps, one_weight;
};

static struct vv_rms_norm make(struct vv_check *check, int32_t *rows, const struct shape *s) {
    struct vv_rms_norm a = {.groups = s->groups, .width = s->width, .eps = 1e-6f};
    size_t gap = s->gaps ? 1 + vv_check_below(check, 9) : 0;
    *rows = s->rows;
    a.rows = (struct vv_rows){rows, 1};
    a.x_group = s->width + gap;
    a.x_row = s->groups * a.x_group + 2 * gap;
    a.y_group = s->in_place ? a.x_group : s->width + gap / 2;
    a.y_row = s->in_place ? a.x_row : s->groups * a.y_group + gap;
    a.weight_group = s->one_weight ? 0 : s->width + gap;
    size_t n = (size_t)s->rows, within = (s->groups - 1) * a.x_group + s->width;
    float *x = vv_check_adversarial(check, (n - 1) * a.x_row + within);
    a.x = x;
    a.y = s->in_place
              ? x
              : vv_check_floats(check, (n - 1) * a.y_row + (s->groups - 1) * a.y_group + s->width);
    a.weight = vv_check_normals(check, (s->groups - 1) * a.weight_group + s->width);
    return a;
}

static void bits(struct vv_check *check, int32_t rows, size_t width) {
    struct shape s = {.rows = rows,
                      .groups = 1 + vv_check_below(check, 4),
                      .width = width,
                      .in_place = vv_check_below(check, 2),
                      .gaps = vv_check_below(check, 2),
                      .one_weight = vv_check_below(check, 2)};
    int32_t count;
    struct vv_rms_norm a = make(check, &count, &s);
    vv_check_variants(check, &vv_rms_norm, &a, "%d rows of %zu groups of %zu%s%s%s", rows, s.groups,
                      width, s.in_place ? ", in place" : "", s.gaps ? ", gaps" : "",
                      s.one_weight ? ", one weight" : "");
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    SUM_FOR_MEAN,
    WEIGHT_PLUS_ONE,
    LAYER_NORM,
    ONE_STATISTIC, /* over all groups of a row */
    FIRST_WEIGHT,  /* group 0's for all */
    WEIGHT_BY_ROW,
    NO_EPS,
    EPS_OUTSIDE,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "sum for mean",
    "weight + 1",
    "layer norm",
    "one statistic for all groups",
    "the first group's weight for all",
    "weight chosen by row",
    "no eps",
    "eps outside the root",
};

static double statistic(const float *x, size_t n, enum reading how) {
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        squares += (double)x[i] * (double)x[i];
    }
    return how == SUM_FOR_MEAN ? squares : squares / (double)n;
}

/* All groups of dense arrays, in double precision. */
static void formula(const struct vv_rms_norm *a, enum reading how, double *y) {
    size_t n = a->width, groups = vv_rows(a->rows) * a->groups;
    for (size_t g = 0; g < groups; g++) {
        const float *x = a->x + g * n;
        size_t first = how == ONE_STATISTIC ? g / a->groups * a->groups : g;
        double mean = statistic(a->x + first * n, how == ONE_STATISTIC ? a->groups * n : n, how);
        double shift = 0, eps = how == NO_EPS ? 0 : (double)a->eps;
        for (size_t i = 0; how == LAYER_NORM && i < n; i++) {
            shift += (double)x[i] / (double)n;
        }
        double root = how == EPS_OUTSIDE ? sqrt(mean) + eps : sqrt(mean - shift * shift + eps);
        size_t w = how == FIRST_WEIGHT    ? 0
                   : how == WEIGHT_BY_ROW ? g / a->groups % a->groups
                                          : g % a->groups;
        for (size_t i = 0; i < n; i++) {
            double weight = (double)a->weight[w * n + i] + (how == WEIGHT_PLUS_ONE ? 1 : 0);
            y[g * n + i] = ((double)x[i] - shift) / root * weight;
        }
    }
}

static void readings(struct vv_check *check, size_t width) {
    const struct shape s = {.rows = 3, .groups = 3, .width = width};
    size_t n = 9 * width;
    int32_t rows;
    struct vv_rms_norm a = make(check, &rows, &s);
    float *x = vv_check_normals(check, n);
    for (size_t i = 0; i < n; i++) { /* magnitudes that differ, one near the root of eps */
        x[i] = (x[i] + 0.5f) * (i / width % 3 == 0 ? 0x1p-10f : (float)(i / width));
    }
    a.x = x;
    vv_check_variants(check, &vv_rms_norm, &a, "formula at %zu", width);
    double *y = vv_check_doubles(check, n);
    formula(&a, RIGHT, y);
    vv_check_near(check, "formula", a.y, y, n, 1e-6);
    for (enum reading how = 1; how < READINGS; how++) {
        formula(&a, how, y);
        vv_check_misreading(check, reading_name[how], a.y, vv_check_narrow(check, y, n), n, 1e-3);
    }
    vv_check_reset(check);
}

/* The last element of the last group is the one that a careless tail forgets. */
static void refusals(struct vv_check *check, size_t width) {
    static const float bad[] = {INFINITY, -INFINITY, NAN, 1e30f /* its square overflows */};
    const struct shape s = {.rows = 2, .groups = 2, .width = width};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t rows;
        struct vv_rms_norm a = make(check, &rows, &s);
        float *x = vv_check_normals(check, 4 * width);
        x[4 * width - 1] = bad[i];
        a.x = x;
        vv_check_refuses(check, &vv_rms_norm, &a, VV_ERROR_NOT_FINITE, "%g at %zu", (double)bad[i],
                         width);
        vv_check_reset(check);
    }
}

void vv_rms_norm_check(struct vv_check *check) {
    size_t n = sizeof widths / sizeof *widths;
    for (size_t i = 0; i < n; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, widths[i]);
        }
        if (widths[i] > 8) {
            readings(check, widths[i]);
        }
        refusals(check, widths[i]);
    }
    bits(check, 33, 129);
    bits(check, 130, 40);
}
