/* hyper_norm: bits with and without a write before it; the formula, and how it has been misread. */
#include "op/check_support.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"

static const size_t widths[] = {1,  2,  7,   8,   9,   15,  16,  17,  31,  33,  63,  64,
                                65, 96, 127, 128, 129, 160, 255, 256, 257, 300, 2560};

/* `rows` is the count that the args point to. */
static struct vv_hyper_norm make(struct vv_check *check, const int32_t *rows, size_t streams,
                                 size_t width, bool writes) {
    size_t n = (size_t)*rows, all = n * streams * width;
    return (struct vv_hyper_norm){.x = vv_check_adversarial(check, all),
                                  .o = writes ? vv_check_adversarial(check, n * width) : NULL,
                                  .gamma = writes ? vv_check_normals(check, n * streams) : NULL,
                                  .weight = vv_check_normals(check, streams * width),
                                  .h = vv_check_floats(check, all),
                                  .rows = {rows, 1},
                                  .streams = streams,
                                  .width = width,
                                  .eps = 1e-6f};
}

static void bits(struct vv_check *check, int32_t rows, size_t width) {
    size_t streams = 1 + vv_check_below(check, 5);
    bool writes = vv_check_below(check, 2);
    struct vv_hyper_norm a = make(check, &rows, streams, width, writes);
    vv_check_variants(check, &vv_hyper_norm, &a, "%d rows of %zu streams of %zu%s", rows, streams,
                      width, writes ? ", after a write" : "");
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    SUM_FOR_MEAN,
    WEIGHT_PLUS_ONE,
    ONE_STATISTIC,
    NARROW_WEIGHT,
    NO_EPS,
    NO_WRITE,
    WRITE_AFTER,
    WRITE_NORMED,
    FIRST_GAMMA,
    GAMMA_BY_STREAM,
    FIRST_ROW,
    INTERLEAVED,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "sum for mean",
    "weight + 1",
    "one statistic for all streams",
    "the first stream's weight for all",
    "no eps",
    "nothing written",
    "norm before the write",
    "o written onto the norm",
    "the first stream's factor for all",
    "the first row's factors for all",
    "the first row's o for all",
    "streams interleaved element by element",
};

/* Where element i of stream s of a row's `streams` * `width` values lies. */
static size_t element(const struct vv_hyper_norm *a, enum reading how, size_t s, size_t i) {
    return how == INTERLEAVED ? i * a->streams + s : s * a->width + i;
}

/* What the write adds to element i of stream s. */
static double written(const struct vv_hyper_norm *a, enum reading how, size_t row, size_t s,
                      size_t i) {
    size_t gamma = how == FIRST_GAMMA       ? row * a->streams
                   : how == GAMMA_BY_STREAM ? s
                                            : row * a->streams + s;
    double o = (double)a->o[how == FIRST_ROW ? i : row * a->width + i];
    return how == NO_WRITE ? 0 : (double)a->gamma[gamma] * o;
}

/* The mean square of stream s, of x [streams * width] as `how` sees it. */
static double mean_square(const struct vv_hyper_norm *a, enum reading how, const double *x,
                          size_t s) {
    size_t n = a->width, first = s, last = s + 1;
    if (how == ONE_STATISTIC) {
        first = 0, last = a->streams;
    }
    double sum = 0;
    for (size_t k = first; k < last; k++) {
        for (size_t i = 0; i < n; i++) {
            double value = x[element(a, how, k, i)];
            sum += value * value;
        }
    }
    return how == SUM_FOR_MEAN ? sum : sum / (double)(n * (last - first));
}

/* One row: x [streams * width] becomes the written streams, h their norms. */
static void formula(const struct vv_hyper_norm *a, enum reading how, size_t row, double *x,
                    double *h) {
    bool early = how != WRITE_AFTER && how != WRITE_NORMED;
    for (size_t at = 0; at < a->streams * a->width; at++) {
        size_t s = at / a->width, i = at % a->width;
        x[element(a, how, s, i)] += early ? written(a, how, row, s, i) : 0;
    }
    for (size_t at = 0; at < a->streams * a->width; at++) {
        size_t s = at / a->width, i = at % a->width, e = element(a, how, s, i);
        double eps = how == NO_EPS ? 0 : (double)a->eps;
        double weight = (double)a->weight[how == NARROW_WEIGHT ? i : e];
        h[e] = x[e] / sqrt(mean_square(a, how, x, s) + eps) *
               (weight + (how == WEIGHT_PLUS_ONE ? 1 : 0));
    }
    for (size_t at = 0; !early && at < a->streams * a->width; at++) {
        size_t s = at / a->width, i = at % a->width;
        x[at] = (how == WRITE_NORMED ? h[at] : x[at]) + written(a, how, row, s, i);
    }
}

/* Both outputs of all rows are compared. */
static void readings(struct vv_check *check, size_t streams, size_t width) {
    const int32_t rows = 3;
    size_t each = streams * width, n = (size_t)rows * each;
    struct vv_hyper_norm a = make(check, &rows, streams, width, true);
    float *before = vv_check_normals(check, n), *gamma = vv_check_normals(check, 3 * streams);
    for (size_t i = 0; i < n; i++) { /* magnitudes that differ, the first near the root of eps */
        before[i] *= i / width % streams == 0 ? 0x1p-10f : (float)(i / width % streams);
    }
    for (size_t row = 0; row < 3; row++) {
        gamma[row * streams] *= 0x1p-10f;
    }
    memcpy(a.x, before, n * sizeof(float));
    a.gamma = gamma;
    a.o = vv_check_normals(check, 3 * width);
    vv_check_variants(check, &vv_hyper_norm, &a, "formula at %zu x %zu", streams, width);
    double *x = vv_check_doubles(check, n), *h = vv_check_doubles(check, n);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)before[i];
        }
        for (size_t row = 0; row < 3; row++) {
            formula(&a, how, row, x + row * each, h + row * each);
        }
        if (how == RIGHT) {
            vv_check_near(check, "streams", a.x, x, n, 1e-6);
            vv_check_near(check, "norms", a.h, h, n, 1e-5);
        } else {
            bool of_streams = how == WRITE_NORMED;
            vv_check_misreading(check, reading_name[how], of_streams ? a.x : a.h,
                                vv_check_narrow(check, of_streams ? x : h, n), n, 1e-3);
        }
    }
    vv_check_reset(check);
}

/* The last element of the last stream is the one that a careless tail forgets. */
static void refusals(struct vv_check *check, size_t width) {
    static const float bad[] = {INFINITY, NAN, 1e30f /* its square overflows */};
    for (size_t i = 0; i < 2 * sizeof bad / sizeof *bad; i++) {
        const int32_t rows = 2;
        bool in_o = i % 2;
        struct vv_hyper_norm a = make(check, &rows, 3, width, in_o);
        float *o = vv_check_normals(check, 2 * width);
        a.x = vv_check_normals(check, 6 * width);
        if (in_o) {
            o[2 * width - 1] = bad[i / 2];
            a.o = o;
        } else {
            a.x[6 * width - 1] = bad[i / 2];
        }
        vv_check_refuses(check, &vv_hyper_norm, &a, VV_ERROR_NOT_FINITE, "%g in %s, width %zu",
                         (double)bad[i / 2], in_o ? "o" : "x", width);
        vv_check_reset(check);
    }
}

void vv_hyper_norm_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, widths[i]);
        }
        refusals(check, widths[i]);
    }
    bits(check, 33, 129);
    bits(check, 130, 20);
    readings(check, 4, 33);
    readings(check, 3, 128);
    readings(check, 2, 20);
}
