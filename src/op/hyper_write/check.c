/* Bits at ragged widths and counts of streams; the formula, and how it has been misread. */
#include "op/check_support.h"
#include "op/hyper_write/contract.h"
#include "op/hyper_write/internal.h"

static const size_t widths[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 300, 2560};

/* `rows` is the count that the args point to. */
static struct vv_hyper_write make(struct vv_check *check, const int32_t *rows, size_t streams,
                                  size_t width) {
    size_t n = (size_t)*rows;
    return (struct vv_hyper_write){.x = vv_check_adversarial(check, n * streams * width),
                                   .o = vv_check_adversarial(check, n * width),
                                   .gamma = vv_check_normals(check, n * streams),
                                   .rows = {rows, 1},
                                   .streams = streams,
                                   .width = width};
}

static void bits(struct vv_check *check, int32_t rows, size_t width) {
    size_t streams = 1 + vv_check_below(check, 5);
    struct vv_hyper_write a = make(check, &rows, streams, width);
    vv_check_variants(check, &vv_hyper_write, &a, "%d rows of %zu streams of %zu", rows, streams,
                      width);
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    REPLACES,
    NO_GAMMA,
    FIRST_GAMMA,
    GAMMA_BY_STREAM,
    GAMMA_TRANSPOSED,
    FIRST_ROW,
    INTERLEAVED,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "o replaces the stream",
    "no factor",
    "the first stream's factor for all",
    "the first row's factors for all",
    "factors [streams][rows]",
    "the first row's o for all",
    "streams interleaved element by element",
};

static double one(const struct vv_hyper_write *a, const float *x, enum reading how, size_t row,
                  size_t s, size_t i) {
    size_t at = (row * a->streams + s) * a->width + i, rows = vv_rows(a->rows);
    size_t gamma = how == FIRST_GAMMA        ? row * a->streams
                   : how == GAMMA_BY_STREAM  ? s
                   : how == GAMMA_TRANSPOSED ? s * rows + row
                   : how == INTERLEAVED      ? row * a->streams + at % a->streams
                                             : row * a->streams + s;
    size_t o = how == FIRST_ROW     ? i
               : how == INTERLEAVED ? row * a->width + (s * a->width + i) / a->streams
                                    : row * a->width + i;
    double factor = how == NO_GAMMA ? 1 : (double)a->gamma[gamma];
    return (how == REPLACES ? 0 : (double)x[at]) + factor * (double)a->o[o];
}

static void readings(struct vv_check *check, size_t streams, size_t width) {
    int32_t rows = 3;
    size_t n = (size_t)rows * streams * width;
    struct vv_hyper_write a = make(check, &rows, streams, width);
    float *before = vv_check_normals(check, n);
    memcpy(a.x, before, n * sizeof(float));
    a.o = vv_check_normals(check, (size_t)rows * width);
    vv_check_variants(check, &vv_hyper_write, &a, "formula at %zu x %zu", streams, width);
    double *want = vv_check_doubles(check, n);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        for (size_t at = 0; at < n; at++) {
            size_t stream = at / width;
            want[at] = one(&a, before, how, stream / streams, stream % streams, at % width);
        }
        if (how == RIGHT) {
            vv_check_near(check, "formula", a.x, want, n, 1e-6);
        } else {
            vv_check_misreading(check, reading_name[how], a.x, vv_check_narrow(check, want, n), n,
                                1e-2);
        }
    }
    vv_check_reset(check);
}

void vv_hyper_write_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, widths[i]);
        }
    }
    bits(check, 33, 40);
    bits(check, 130, 17);
    readings(check, 4, 33);
    readings(check, 3, 128);
    readings(check, 2, 7);
}
