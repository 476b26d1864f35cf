/*
 * hyper_down and hyper_up: bits for every format and for windows on both sides of the kernels'
 * blocks; the formulas, with float weights, and how they have been misread. Activations are scaled
 * until the products are a few units large: a saturated sigmoid would hide a wrong product.
 */
#include "gguf/types.h"
#include "op/check_support.h"
#include "op/gemv/contract.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "quant/format.h"

/* ---- activations ---- */

static float largest_product(struct vv_check *check, const struct vv_planes *x, int32_t rows,
                             struct vv_weight *weight) {
    size_t n = (size_t)rows * weight->rows;
    struct vv_gemv gemv = {.x = *x,
                           .weight = weight,
                           .y = vv_check_floats(check, n),
                           .y_row = weight->rows,
                           .rows = {&rows, 1}};
    gemv.x.float_only = true;
    int error = vv_gemv.variants->run(&gemv, 0, weight->rows);
    vv_check_true(check, error == VV_OK, "products of a case are out of range");
    float largest = 0.0f;
    for (size_t i = 0; i < n; i++) {
        largest = fmaxf(largest, fabsf(gemv.y[i]));
    }
    return largest;
}

/* Rows for one or two weights (`second` may be NULL), whose products are below 6. */
static struct vv_planes activations(struct vv_check *check, int32_t rows, struct vv_weight *first,
                                    struct vv_weight *second) {
    size_t width = first->width, n = (size_t)rows * width;
    float *x = vv_check_normals(check, n);
    struct vv_planes plain = {.width = width, .x = x};
    float largest = largest_product(check, &plain, rows, first);
    if (second) {
        largest = fmaxf(largest, largest_product(check, &plain, rows, second));
    }
    for (size_t i = 0; i < n; i++) {
        x[i] *= 6.0f / largest;
    }
    unsigned sets = vv_planes_needed(&plain, first->type);
    sets |= second ? vv_planes_needed(&plain, second->type) : 0;
    return vv_check_planes(check, x, (size_t)rows, width, sets);
}

static const float *some_scale(struct vv_check *check) {
    float *scale = vv_check_floats(check, 1);
    *scale = vv_check_uniform(check, 0.5f, 1.5f);
    return vv_check_below(check, 3) == 0 ? scale : NULL;
}

/* ---- bits ---- */

struct shape {
    int type, inject_type;
    int32_t rows;
    size_t streams, width, rank;
    bool injects;
};

/* `rows` is the count that the args point to. */
static struct vv_hyper_down make_down(struct vv_check *check, const struct shape *s,
                                      const int32_t *rows) {
    size_t wide = s->streams * s->width, n = (size_t)*rows;
    struct vv_hyper_down a = {.down = vv_check_weight(check, s->type, wide, s->rank, 1),
                              .a = vv_check_floats(check, n * s->rank),
                              .rows = {rows, 1},
                              .streams = s->streams};
    if (s->injects) {
        a.inject = vv_check_weight(check, s->inject_type, wide, s->streams, 1);
        a.gamma = vv_check_floats(check, n * s->streams);
    }
    a.h = activations(check, *rows, a.down, a.inject);
    return a;
}

static struct vv_hyper_up make_up(struct vv_check *check, const struct shape *s,
                                  const int32_t *rows) {
    size_t wide = s->streams * s->width, n = (size_t)*rows;
    struct vv_hyper_up a = {.up = vv_check_weight(check, s->type, s->rank, wide, 1),
                            .h = vv_check_normals(check, n * wide),
                            .u = vv_check_floats(check, n * s->width),
                            .rows = {rows, 1},
                            .streams = s->streams,
                            .width = s->width};
    a.a = activations(check, *rows, a.up, NULL);
    return a;
}

static void bits(struct vv_check *check, const struct shape *s) {
    struct vv_hyper_down down = make_down(check, s, &s->rows);
    const char *name = vv_format(s->type)->name;
    down.down->scale = some_scale(check);
    down.h.float_only = vv_check_below(check, 6) == 0;
    if (s->injects) {
        down.inject->scale = some_scale(check);
    }
    vv_check_variants(check, &vv_hyper_down, &down, "%s, %d rows of %zu x %zu to %zu%s", name,
                      s->rows, s->streams, s->width, s->rank, s->injects ? ", injection" : "");
    vv_check_reset(check);
    struct vv_hyper_up up = make_up(check, s, &s->rows);
    up.up->scale = some_scale(check);
    up.a.float_only = vv_check_below(check, 6) == 0;
    vv_check_variants(check, &vv_hyper_up, &up, "%s, %d rows of %zu to %zu x %zu", name, s->rows,
                      s->rank, s->streams, s->width);
    vv_check_reset(check);
}

/* A format at some shape that its blocks allow. */
static void some(struct vv_check *check, const struct vv_format *f, int32_t rows) {
    static const int inject_types[] = {VV_TYPE_F32, VV_TYPE_Q8_0, VV_TYPE_BF16};
    size_t block = f->block_values < 32 ? 32 : f->block_values;
    struct shape s = {.type = f->type,
                      .inject_type = inject_types[vv_check_below(check, 3)],
                      .rows = rows,
                      .streams = 1 + vv_check_below(check, 4),
                      .width = block * (1 + vv_check_below(check, 2)),
                      .rank = block * (1 + vv_check_below(check, 2)),
                      .injects = vv_check_below(check, 3) > 0};
    bits(check, &s);
}

/* ---- the formulas ---- */

enum reading {
    RIGHT,
    SILU_FIRST, /* the division after the activation */
    NO_DIVISION,
    DIVISION_BY_4,
    SIGMOID_FOR_SILU,
    NO_FACTOR_2,
    UNIT_FACTOR, /* 1 for every stream */
    SILU_FOR_SIGMOID,
    TRANSPOSED, /* [outputs][rows] */
    NEXT_ROW,
    SUM_FOR_MEAN,
    FIRST_STREAM,
    UNGATED,
    WEIGHTS_INTERLEAVED,
    STREAMS_INTERLEAVED,
    SOFTMAX,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "division after the activation",
    "no division by the number of streams",
    "division by 4",
    "sigmoid for silu",
    "injection without its factor 2",
    "injection of 1",
    "silu for sigmoid",
    "outputs [outputs][rows]",
    "the next row's activations",
    "sum over streams for their mean",
    "the first stream alone",
    "no gate",
    "rows of W_up interleaved element by element",
    "streams interleaved element by element",
    "softmax over the streams",
};

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* Output o of a row: F32 weights. */
static double dot(const struct vv_weight *w, const struct vv_planes *x, size_t row, size_t o) {
    double sum = 0;
    for (size_t i = 0; i < w->width; i++) {
        float weight;
        memcpy(&weight, w->data + o * w->row_bytes + i * 4, sizeof weight);
        sum += (double)weight * (double)x->x[row * w->width + i];
    }
    return sum;
}

static double activation(enum reading how, bool injects, double y, double streams) {
    double by = how == NO_DIVISION ? 1 : how == DIVISION_BY_4 ? 4 : streams;
    double part = how == SILU_FIRST ? y : y / by, after = how == SILU_FIRST ? by : 1;
    if (injects) {
        double factor = how == NO_FACTOR_2 ? 1 : 2;
        double gate = how == SILU_FOR_SIGMOID ? part * sigmoid(part) : sigmoid(part);
        return how == UNIT_FACTOR ? 1 : factor * gate / after;
    }
    return how == SIGMOID_FOR_SILU ? sigmoid(part) : part * sigmoid(part) / after;
}

/* a, or with `injects` gamma, of all rows. */
static void down_formula(const struct vv_hyper_down *a, enum reading how, bool injects,
                         double *out) {
    const struct vv_weight *w = injects ? a->inject : a->down;
    size_t rows = vv_rows(a->rows);
    for (size_t row = 0; row < rows; row++) {
        for (size_t o = 0; o < w->rows; o++) {
            double y = dot(w, &a->h, how == NEXT_ROW ? (row + 1) % rows : row, o);
            size_t at = how == TRANSPOSED ? o * rows + row : row * w->rows + o;
            out[at] = activation(how, injects, y, (double)a->streams);
        }
    }
}

/* What element i of stream s adds to u_i, before the division. */
static double gated(const struct vv_hyper_up *a, enum reading how, size_t row, size_t s, size_t i) {
    size_t R = a->streams, other = how == NEXT_ROW ? (row + 1) % vv_rows(a->rows) : row;
    size_t o = how == WEIGHTS_INTERLEAVED ? i * R + s : s * a->width + i;
    size_t from = how == STREAMS_INTERLEAVED ? i * R + s : s * a->width + i;
    double y = dot(a->up, &a->a, other, o), gate = sigmoid(y);
    if (how == SILU_FOR_SIGMOID) {
        gate *= y;
    } else if (how == SOFTMAX) {
        double sum = 0;
        for (size_t k = 0; k < R; k++) {
            sum += exp(dot(a->up, &a->a, other, k * a->width + i));
        }
        gate = exp(y) / sum;
    }
    gate = how == UNGATED ? 1 : how == FIRST_STREAM && s > 0 ? 0 : gate;
    return gate * (double)a->h[row * R * a->width + from];
}

static void up_formula(const struct vv_hyper_up *a, enum reading how, double *u) {
    double by = how == SUM_FOR_MEAN || how == NO_DIVISION ? 1
                : how == DIVISION_BY_4                    ? 4
                                                          : (double)a->streams;
    for (size_t at = 0; at < vv_rows(a->rows) * a->width; at++) {
        u[at] = 0;
        for (size_t s = 0; s < a->streams; s++) {
            u[at] += gated(a, how, at / a->width, s, at % a->width) / by;
        }
    }
}

/* Which readings say something else about a, gamma and u. */
static const bool about_a[READINGS] = {
    [SILU_FIRST] = true,       [NO_DIVISION] = true, [DIVISION_BY_4] = true,
    [SIGMOID_FOR_SILU] = true, [TRANSPOSED] = true,  [NEXT_ROW] = true};
static const bool about_gamma[READINGS] = {
    [SILU_FIRST] = true,  [NO_DIVISION] = true,      [DIVISION_BY_4] = true, [NO_FACTOR_2] = true,
    [UNIT_FACTOR] = true, [SILU_FOR_SIGMOID] = true, [TRANSPOSED] = true,    [NEXT_ROW] = true};
static const bool about_u[READINGS] = {
    [DIVISION_BY_4] = true, [SILU_FOR_SIGMOID] = true,    [NEXT_ROW] = true,
    [SUM_FOR_MEAN] = true,  [FIRST_STREAM] = true,        [UNGATED] = true,
    [SOFTMAX] = true,       [WEIGHTS_INTERLEAVED] = true, [STREAMS_INTERLEAVED] = true};

static void judge(struct vv_check *check, enum reading how, const char *of, const float *got,
                  const double *want, size_t n) {
    if (how == RIGHT) {
        vv_check_near(check, of, got, want, n, 1e-5);
    } else {
        vv_check_misreading(check, reading_name[how], got, vv_check_narrow(check, want, n), n,
                            1e-2);
    }
}

static void readings(struct vv_check *check, size_t streams, size_t width, size_t rank) {
    const struct shape s = {VV_TYPE_F32, VV_TYPE_F32, 5, streams, width, rank, true};
    struct vv_hyper_down down = make_down(check, &s, &s.rows);
    struct vv_hyper_up up = make_up(check, &s, &s.rows);
    vv_check_variants(check, &vv_hyper_down, &down, "formula, %zu x %zu", streams, width);
    vv_check_variants(check, &vv_hyper_up, &up, "formula, %zu x %zu", streams, width);
    double *want = vv_check_doubles(check, 5 * (rank + streams + width));
    for (enum reading how = RIGHT; how < READINGS; how++) {
        if (how == RIGHT || about_a[how]) {
            down_formula(&down, how, false, want);
            judge(check, how, "a", down.a, want, 5 * rank);
        }
        if (how == RIGHT || about_gamma[how]) {
            down_formula(&down, how, true, want);
            judge(check, how, "gamma", down.gamma, want, 5 * streams);
        }
        if (how == RIGHT || about_u[how]) {
            up_formula(&up, how, want);
            judge(check, how, "u", up.u, want, 5 * width);
        }
    }
    vv_check_reset(check);
}

/* ---- refusals ---- */

/* The last element of the last weight row, against rows of which none is zero. */
static void spoil(struct vv_weight *w, float bad) {
    uint8_t *data = (uint8_t *)(uintptr_t)w->data;
    memcpy(data + w->rows * w->row_bytes - sizeof bad, &bad, sizeof bad);
}

static void refusals(struct vv_check *check) {
    static const float bad[] = {INFINITY, NAN};
    const struct shape s = {VV_TYPE_F32, VV_TYPE_F32, 3, 3, 11, 7, true};
    for (size_t i = 0; i < 2; i++) {
        struct vv_hyper_down down = make_down(check, &s, &s.rows);
        spoil(down.down, bad[i]);
        vv_check_refuses(check, &vv_hyper_down, &down, VV_ERROR_NOT_FINITE, "%g in down",
                         (double)bad[i]);
        down = make_down(check, &s, &s.rows);
        spoil(down.inject, bad[i]);
        vv_check_refuses(check, &vv_hyper_down, &down, VV_ERROR_NOT_FINITE, "%g in inject",
                         (double)bad[i]);
        struct vv_hyper_up up = make_up(check, &s, &s.rows);
        spoil(up.up, bad[i]);
        vv_check_refuses(check, &vv_hyper_up, &up, VV_ERROR_NOT_FINITE, "%g in up", (double)bad[i]);
        vv_check_reset(check);
    }
}

/* Quantised weights, which other variants take: one row of several, or `inject` alone. */
static void quantised_refusals(struct vv_check *check) {
    const struct shape s = {VV_TYPE_Q8_0, VV_TYPE_F32, 3, 2, 64, 32, true};
    for (size_t row = 0; row < 3; row++) {
        struct vv_hyper_down down = make_down(check, &s, &s.rows);
        vv_check_spoil_row(&down.h, 3, row);
        down.inject = NULL;
        vv_check_refuses(check, &vv_hyper_down, &down, VV_ERROR_NOT_FINITE, "row %zu of down", row);
        struct vv_hyper_up up = make_up(check, &s, &s.rows);
        vv_check_spoil_row(&up.a, 3, row);
        vv_check_refuses(check, &vv_hyper_up, &up, VV_ERROR_NOT_FINITE, "row %zu of up", row);
        vv_check_reset(check);
    }
    struct vv_hyper_down down = make_down(check, &s, &s.rows);
    spoil(down.inject, INFINITY);
    vv_check_refuses(check, &vv_hyper_down, &down, VV_ERROR_NOT_FINITE, "inject beside Q8_0");
    vv_check_reset(check);
}

void vv_hyper_product_check(struct vv_check *check) {
    for (size_t i = 0; vv_format_at(i); i++) {
        const struct vv_format *f = vv_format_at(i);
        for (int32_t rows = 1; rows <= 8 && f->arithmetic != VV_ARITHMETIC_NONE; rows++) {
            if (!vv_check_quick(check) || rows == 1 + (int32_t)(i % 8)) {
                some(check, f, rows);
            }
        }
    }
    some(check, vv_format(VV_TYPE_Q8_0), 33);
    some(check, vv_format(VV_TYPE_F32), 17);
    for (size_t width = 1; width <= 130; width += 1 + width / 2) { /* blocks of columns */
        bits(check, &(struct shape){VV_TYPE_F32, VV_TYPE_F32, 9, 3, width, 5, true});
    }
    bits(check, &(struct shape){VV_TYPE_BF16, VV_TYPE_F32, 130, 2, 65, 3, true});
    readings(check, 3, 33, 20);
    readings(check, 2, 64, 65);
    readings(check, 5, 9, 3);
    refusals(check);
    quantised_refusals(check);
}
