/*
 * Bits at ragged widths, with dots of either sign, of zero and below the clamp; the formula, and
 * how it has been misread.
 */
#include "op/check_support.h"
#include "op/ngram_gate/contract.h"
#include "op/ngram_gate/internal.h"

static const size_t widths[] = {1,  2,   7,   8,   9,   15,  16,  17,  31,  33,
                                64, 127, 128, 129, 255, 256, 257, 300, 640, 2560};

static struct vv_ngram_gate make(struct vv_check *check, const int32_t *rows, size_t streams,
                                 size_t width) {
    size_t n = (size_t)*rows, all = n * streams * width;
    return (struct vv_ngram_gate){.k = vv_check_adversarial(check, all),
                                  .q = vv_check_adversarial(check, all),
                                  .v = vv_check_adversarial(check, n * width),
                                  .p = vv_check_floats(check, all),
                                  .rows = {rows, 1},
                                  .streams = streams,
                                  .width = width};
}

/* With values of all magnitudes most gates are 0 or 1 and hide the sum they come from; normal ones
 * show its last bits. */
static void bits(struct vv_check *check, int32_t rows, size_t width) {
    size_t streams = 1 + vv_check_below(check, 5), n = (size_t)rows * streams * width;
    struct vv_ngram_gate a = make(check, &rows, streams, width);
    vv_check_variants(check, &vv_ngram_gate, &a, "%d rows of %zu streams of %zu", rows, streams,
                      width);
    a.k = vv_check_normals(check, n);
    a.q = vv_check_normals(check, n);
    vv_check_variants(check, &vv_ngram_gate, &a, "%d rows of %zu normal streams of %zu", rows,
                      streams, width);
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    NO_SCALE,
    SCALE_BY_WIDTH,
    NO_ROOT,
    NO_SIGN,
    NO_CLAMP,
    SIGN_OF_ZERO,
    SILU,
    TWICE,
    NEXT_STREAM, /* q of another stream */
    FIRST_ROW,   /* v of the first row for all */
    V_BY_STREAM,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "no division by the root of the width",
    "division by the width",
    "no square root",
    "square root without its sign",
    "no clamp",
    "sign of zero is one",
    "silu for sigmoid",
    "2 sigmoid",
    "the next stream's query",
    "the first row's value for all",
    "value by stream",
};

static double gate_of(double d, enum reading how) {
    double size = how == NO_CLAMP ? fabs(d) : fmax(fabs(d), 1e-6);
    double root = how == NO_ROOT ? size : sqrt(size);
    double sign = how == NO_SIGN || (how == SIGN_OF_ZERO && d == 0) ? 1 : (d > 0) - (d < 0);
    double gate = 1 / (1 + exp(-sign * root));
    return how == SILU ? sign * root * gate : how == TWICE ? 2 * gate : gate;
}

static void formula(const struct vv_ngram_gate *a, enum reading how, double *p) {
    size_t n = a->width, streams = vv_rows(a->rows) * a->streams;
    for (size_t s = 0; s < streams; s++) {
        size_t row = s / a->streams;
        size_t other = how == NEXT_STREAM ? row * a->streams + (s + 1) % a->streams : s;
        double d = 0;
        for (size_t i = 0; i < n; i++) {
            d += (double)a->k[s * n + i] * (double)a->q[other * n + i];
        }
        d /= how == NO_SCALE ? 1 : how == SCALE_BY_WIDTH ? (double)n : sqrt((double)n);
        size_t v = how == FIRST_ROW ? 0 : how == V_BY_STREAM ? s % vv_rows(a->rows) : row;
        for (size_t i = 0; i < n; i++) {
            p[s * n + i] = gate_of(d, how) * (double)a->v[v * n + i];
        }
    }
}

/* Rows with dots of about one, of below the clamp, and of exactly zero. */
static void readings(struct vv_check *check, size_t streams, size_t width) {
    const int32_t rows = 5;
    size_t n = (size_t)rows * streams * width;
    struct vv_ngram_gate a = make(check, &rows, streams, width);
    float *k = vv_check_normals(check, n);
    for (size_t i = 0; i < 2 * streams * width; i++) {
        k[i] *= i < streams * width ? 0.0f : 1e-9f;
    }
    a.k = k;
    a.q = vv_check_normals(check, n);
    a.v = vv_check_normals(check, (size_t)rows * width);
    vv_check_variants(check, &vv_ngram_gate, &a, "formula at %zu x %zu", streams, width);
    double *want = vv_check_doubles(check, n);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        formula(&a, how, want);
        if (how == RIGHT) {
            vv_check_near(check, "formula", a.p, want, n, 5e-5);
        } else {
            vv_check_misreading(check, reading_name[how], a.p, vv_check_narrow(check, want, n), n,
                                1e-4);
        }
    }
    vv_check_reset(check);
}

static void refusals(struct vv_check *check, size_t width) {
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int32_t rows = 2;
        struct vv_ngram_gate a = make(check, &rows, 3, width);
        float *k = vv_check_normals(check, 6 * width);
        k[6 * width - 1] = bad[i];
        a.k = k;
        a.q = vv_check_normals(check, 6 * width);
        vv_check_refuses(check, &vv_ngram_gate, &a, VV_ERROR_NOT_FINITE, "%g at %zu",
                         (double)bad[i], width);
        vv_check_reset(check);
    }
}

void vv_ngram_gate_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, widths[i]);
        }
        refusals(check, widths[i]);
    }
    bits(check, 33, 129);
    bits(check, 130, 20);
    readings(check, 4, 64);
    readings(check, 3, 129);
    readings(check, 2, 9);
}
