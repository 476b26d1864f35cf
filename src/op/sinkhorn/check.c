/*
 * Bits over numbers of streams, widths and rounds; the formula in double precision, the published
 * example of the specification, and the misreadings that engines are known for.
 */
#include "op/check_oracle.h"
#include "op/sinkhorn/internal.h"

struct shape {
    int32_t rows;
    size_t streams, width, rounds;
    bool head; /* pre alone */
};

static struct vv_sinkhorn make(struct vv_check *check, const struct shape *s, int32_t *rows) {
    size_t n = (size_t)s->rows, r = s->streams, mixes = s->head ? r : r * (2 + r);
    *rows = s->rows;
    return (struct vv_sinkhorn){
        .x = vv_check_normals(check, n * r * s->width),
        .mix = vv_check_normals(check, n * mixes),
        .scale = vv_check_normals(check, s->head ? 1 : 3),
        .base = vv_check_normals(check, mixes),
        .pre = vv_check_floats(check, n * r),
        .post = s->head ? NULL : vv_check_floats(check, n * r),
        .to = s->head ? NULL : vv_check_floats(check, n * r * r),
        .rows = {rows, 1},
        .streams = r,
        .width = s->width,
        .rounds = s->rounds,
        .eps = 1e-2f,
        .floor = 1e-2f,
    };
}

enum reading {
    RIGHT,
    STREAM_STATISTIC, /* one root for each stream */
    NO_EPS,
    EPS_OUTSIDE,
    PRE_NO_FLOOR,
    PRE_NORMALISED,
    POST_SINGLE, /* not doubled */
    POST_FLOOR,
    OTHER_SCALE, /* the first one for all */
    ONE_ROUND_MORE,
    ONE_ROUND_LESS,
    ROWS_LAST, /* each round: columns, then rows */
    NO_SOFTMAX_FLOOR,
    TRANSPOSED,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "one statistic for each stream",
    "no eps",
    "eps outside the root",
    "pre without the floor",
    "pre that sums to one",
    "post not doubled",
    "post with the floor",
    "the first scale for all",
    "one round more",
    "one round less",
    "rows last",
    "no floor after the softmax",
    "the matrix transposed",
};

static double inverse_of(const struct vv_sinkhorn *a, size_t row, size_t stream, enum reading how) {
    size_t n = how == STREAM_STATISTIC ? a->width : a->streams * a->width;
    const float *x =
        a->x + row * a->streams * a->width + (how == STREAM_STATISTIC ? stream * n : 0);
    double mean = 0, eps = how == NO_EPS ? 0 : (double)a->eps;
    for (size_t i = 0; i < n; i++) {
        mean += (double)x[i] * (double)x[i] / (double)n;
    }
    return how == EPS_OUTSIDE ? 1 / (sqrt(mean) + eps) : 1 / sqrt(mean + eps);
}

static void divide(double *at, size_t n, size_t apart, double floor) {
    double sum = floor;
    for (size_t i = 0; i < n; i++) {
        sum += at[i * apart];
    }
    for (size_t i = 0; i < n; i++) {
        at[i * apart] /= sum;
    }
}

static void balance(const struct vv_sinkhorn *a, double *c, enum reading how) {
    size_t n = a->streams;
    size_t rounds = a->rounds + (how == ONE_ROUND_MORE) - (how == ONE_ROUND_LESS);
    double floor = (double)a->floor;
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < n; t++) {
            c[s * n + t] = exp(c[s * n + t]);
        }
        divide(c + s * n, n, 1, 0);
        for (size_t t = 0; t < n; t++) {
            c[s * n + t] += how == NO_SOFTMAX_FLOOR ? 0 : floor;
        }
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t s = 0; s < n && round > 0 && how != ROWS_LAST; s++) {
            divide(c + s * n, n, 1, floor);
        }
        for (size_t t = 0; t < n; t++) {
            divide(c + t, n, n, floor);
        }
        for (size_t s = 0; s < n && how == ROWS_LAST; s++) {
            divide(c + s * n, n, 1, floor);
        }
    }
}

/* pre, post and the matrix of a row, one behind another. */
static void formula(const struct vv_sinkhorn *a, size_t row, enum reading how, double *y) {
    size_t n = a->streams, mixes = vv_sinkhorn_mixes(a);
    double sum = 0, c[VV_STREAMS_MAX * VV_STREAMS_MAX];
    for (size_t i = 0; i < mixes; i++) {
        size_t part = i < n ? 0 : i < 2 * n ? 1 : 2, stream = part < 2 ? i % n : (i - 2 * n) / n;
        double scale = (double)a->scale[how == OTHER_SCALE ? 0 : part];
        double m = (double)a->mix[row * mixes + i] * inverse_of(a, row, stream, how) * scale +
                   (double)a->base[i];
        if (part == 0) {
            y[i] = vv_check_sigmoid(m) + (how == PRE_NO_FLOOR ? 0 : (double)a->floor);
            sum += y[i];
        } else if (part == 1) {
            y[i] = (how == POST_SINGLE ? 1 : 2) * vv_check_sigmoid(m) +
                   (how == POST_FLOOR ? (double)a->floor : 0);
        } else {
            c[i - 2 * n] = m;
        }
    }
    for (size_t i = 0; how == PRE_NORMALISED && i < n; i++) {
        y[i] /= sum;
    }
    if (a->post) {
        balance(a, c, how);
        for (size_t i = 0; i < n * n; i++) {
            y[2 * n + (how == TRANSPOSED ? i % n * n + i / n : i)] = c[i];
        }
    }
}

/* What the reference left for a row, laid out as above. */
static void left(const struct vv_sinkhorn *a, size_t row, float *y) {
    size_t n = a->streams;
    memcpy(y, a->pre + row * n, n * sizeof *y);
    if (a->post) {
        memcpy(y + n, a->post + row * n, n * sizeof *y);
        memcpy(y + 2 * n, a->to + row * n * n, n * n * sizeof *y);
    }
}

static bool applies(const struct vv_sinkhorn *a, enum reading how) {
    return a->post || how <= PRE_NORMALISED;
}

static void readings(struct vv_check *check, const struct shape *s) {
    int32_t rows;
    struct vv_sinkhorn a = make(check, s, &rows);
    size_t mixes = vv_sinkhorn_mixes(&a), all = (size_t)rows * mixes;
    float *x = vv_check_normals(check, (size_t)rows * s->streams * s->width);
    for (size_t i = 0; i < (size_t)rows * s->streams * s->width; i++) {
        x[i] *= 0.1f + 0.3f * (float)(i / s->width % s->streams); /* streams that differ in size */
    }
    a.x = x;
    vv_check_variants(check, &vv_sinkhorn, &a, "formula: %zu streams of %zu, %zu rounds",
                      s->streams, s->width, s->rounds);
    float *got = vv_check_floats(check, all);
    double *y = vv_check_doubles(check, all);
    for (int how = RIGHT; how < READINGS; how++) {
        for (size_t r = 0; r < (size_t)rows; r++) {
            formula(&a, r, (enum reading)how, y + r * mixes);
            left(&a, r, got + r * mixes);
        }
        if (how == RIGHT) {
            vv_check_near(check, "sinkhorn", got, y, all, 2e-6);
        } else if (applies(&a, (enum reading)how)) {
            vv_check_misreading(check, reading_name[how], got, vv_check_narrow(check, y, all), all,
                                1e-4);
        }
    }
    vv_check_reset(check);
}

/* The specification's example: mix, base and scale as it has them, of streams whose mean square is
 * 1, so that mix counts as it is. */
static void published(struct vv_check *check) {
    static const double want[24] = {
        0.2592261, 0.6224603, 0.4255585, 0.6341366, 1.1120278, 1.1610846, 0.8026247, 0.8511150,
        0.1294425, 0.5350501, 0.2060631, 0.1294433, 0.2761493, 0.0080859, 0.4396150, 0.2761489,
        0.1070752, 0.4425939, 0.3432540, 0.1070760, 0.4873321, 0.0142692, 0.0110669, 0.4873309};
    static const double streams[4] = {503.1546018, 61.4666705, 51.5997237, 502.6316135};
    const struct shape s = {1, 4, 1, 20, false};
    int32_t rows;
    struct vv_sinkhorn a = make(check, &s, &rows);
    float *mix = vv_check_floats(check, 24), *base = vv_check_floats(check, 24), got[24];
    float *scale = vv_check_floats(check, 3), *x = vv_check_floats(check, 4);
    float *y = vv_check_floats(check, 1);
    for (int i = 0; i < 24; i++) {
        mix[i] = (float)((7 * i % 11 - 5) * 0.3);
        base[i] = (float)((5 * i % 7 - 3) * 0.1);
    }
    for (int i = 0; i < 4; i++) {
        x[i] = 1.0f;
    }
    scale[0] = 0.5f;
    scale[1] = -0.25f;
    scale[2] = 1.5f;
    a.x = x;
    a.mix = mix;
    a.base = base;
    a.scale = scale;
    a.eps = 0;
    a.floor = 1e-6f;
    vv_check_variants(check, &vv_sinkhorn, &a, "the published example");
    left(&a, 0, got);
    vv_check_near(check, "the published example", got, want, 24, 1e-6);
    float ten = 1.0f;
    for (int i = 0; i < 4; i++, ten *= 10.0f) {
        x[i] = ten;
    }
    *y = 2.0f;
    struct vv_stream_write w = {x, a.post, a.to, y, {&rows, 1}, 4, 1};
    vv_check_true(check, vv_stream_write.variants->run(&w, 0, 1) == VV_OK, "fails");
    vv_check_near(check, "the published streams", x, streams, 4, 1e-6);
    vv_check_reset(check);
}

static void refusals(struct vv_check *check) {
    static const float bad[] = {INFINITY, -INFINITY, NAN, 1e30f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t rows;
        struct vv_sinkhorn a = make(check, &(struct shape){2, 3, 17, 2, i % 2}, &rows);
        ((float *)(uintptr_t)a.x)[2 * 3 * 17 - 1] = bad[i];
        vv_check_refuses(check, &vv_sinkhorn, &a, VV_ERROR_NOT_FINITE, "%g", (double)bad[i]);
        vv_check_reset(check);
    }
}

/* ---- streams ---- */

static void check_read(struct vv_check *check, int32_t rows, size_t streams, size_t width) {
    size_t n = (size_t)rows, all = n * width;
    struct vv_stream_read a = {.x = vv_check_normals(check, all * streams),
                               .pre = vv_check_normals(check, n * streams),
                               .u = vv_check_floats(check, all),
                               .rows = {&rows, 1},
                               .streams = streams,
                               .width = width};
    vv_check_variants(check, &vv_stream_read, &a, "%d rows of %zu streams of %zu", rows, streams,
                      width);
    if (streams > 1 && width > 40 && rows > 1) {
        enum { SUM, MEAN, LAST_FIRST, FIRST_ROW, BY_COLUMN, KINDS };
        static const char *const names[] = {"", "the mean", "streams from the last",
                                            "the first row's weights", "streams side by side"};
        double *y = vv_check_doubles(check, all);
        for (int how = SUM; how < KINDS; how++) {
            for (size_t i = 0; i < all; i++) {
                size_t row = i / width, column = i % width;
                y[i] = 0;
                for (size_t s = 0; s < streams; s++) {
                    size_t from = how == LAST_FIRST ? streams - 1 - s : s;
                    size_t at = how == BY_COLUMN ? (row * width + column) * streams + s
                                                 : (row * streams + from) * width + column;
                    double pre = (double)a.pre[(how == FIRST_ROW ? 0 : row) * streams + s];
                    y[i] += pre * (double)a.x[at] / (how == MEAN ? (double)streams : 1);
                }
            }
            if (how == SUM) {
                vv_check_near(check, "stream_read", a.u, y, all, 1e-6);
            } else {
                vv_check_misreading(check, names[how], a.u, vv_check_narrow(check, y, all), all,
                                    1e-3);
            }
        }
    }
    a.x = vv_check_adversarial(check, all * streams);
    vv_check_variants(check, &vv_stream_read, &a, "adversarial, %zu streams of %zu", streams,
                      width);
    vv_check_reset(check);
}

/* The streams after `a` from those before, `x`. */
static void written(const struct vv_stream_write *a, const float *x, int how, double *y) {
    size_t n = a->streams, width = a->width;
    for (size_t i = 0; i < vv_rows(a->rows) * n * width; i++) {
        size_t row = i / (n * width), t = i / width % n, column = i % width;
        double sum =
            how == 2 ? 0 : (double)a->post[row * n + t] * (double)a->y[row * width + column];
        sum = how == 3 ? (double)a->y[row * width + column] : sum;
        for (size_t s = 0; s < n; s++) {
            size_t entry = how == 1 ? t * n + s : s * n + t;
            /* 4: streams written before this one are read anew */
            double before = how == 4 && s < t ? y[(row * n + s) * width + column]
                                              : (double)x[(row * n + s) * width + column];
            sum += (double)a->to[row * n * n + entry] * before;
        }
        y[i] = sum;
    }
}

static void check_write(struct vv_check *check, int32_t rows, size_t streams, size_t width) {
    static const char *const names[] = {"", "the matrix transposed", "nothing written",
                                        "post forgotten", "streams that were written already"};
    size_t n = (size_t)rows, all = n * streams * width;
    float *x = vv_check_normals(check, all), *before = vv_check_floats(check, all);
    struct vv_stream_write a = {.x = x,
                                .post = vv_check_normals(check, n * streams),
                                .to = vv_check_normals(check, n * streams * streams),
                                .y = vv_check_normals(check, n * width),
                                .rows = {&rows, 1},
                                .streams = streams,
                                .width = width};
    memcpy(before, x, all * sizeof *x);
    vv_check_variants(check, &vv_stream_write, &a, "%d rows of %zu streams of %zu", rows, streams,
                      width);
    double *y = vv_check_doubles(check, all);
    for (int how = 0; streams > 1 && width > 40 && how < 5; how++) {
        written(&a, before, how, y);
        if (how == 0) {
            vv_check_near(check, "stream_write", x, y, all, 1e-6);
        } else {
            vv_check_misreading(check, names[how], x, vv_check_narrow(check, y, all), all, 1e-3);
        }
    }
    a.x = vv_check_adversarial(check, all);
    vv_check_variants(check, &vv_stream_write, &a, "adversarial, %zu streams of %zu", streams,
                      width);
    vv_check_reset(check);
}

void vv_sinkhorn_check(struct vv_check *check) {
    static const size_t widths[] = {1, 7, 16, 33, 72, 127, 128, 129, 256, 300};
    static const size_t streams[] = {1, 2, 3, 4, 5, 8, 16};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t s = 0; s < sizeof streams / sizeof *streams; s++) {
            int32_t rows = 1 + (int32_t)((w + 3 * s) % 8), counted;
            struct shape shape = {rows, streams[s], widths[w], 1 + (w + s) % 5, s % 3 == 2};
            struct vv_sinkhorn a = make(check, &shape, &counted);
            vv_check_variants(check, &vv_sinkhorn, &a, "%d rows, %zu streams of %zu", rows,
                              streams[s], widths[w]);
            vv_check_reset(check);
            check_read(check, rows, streams[s], widths[w]);
            check_write(check, rows, streams[s], widths[w]);
        }
    }
    int32_t many;
    struct vv_sinkhorn wide = make(check, &(struct shape){9, 4, 700, 3, false}, &many);
    vv_check_variants(check, &vv_sinkhorn, &wide, "9 rows, 4 streams of 700");
    vv_check_reset(check);
    check_read(check, 33, 4, 130);
    check_read(check, 33, 4, 132);
    check_write(check, 33, 4, 130);
    check_write(check, 33, 4, 132);
    readings(check, &(struct shape){3, 4, 72, 2, false});
    readings(check, &(struct shape){2, 4, 64, 3, true});
    readings(check, &(struct shape){2, 5, 33, 2, false});
    published(check);
    refusals(check);
}
