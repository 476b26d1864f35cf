/*
 * Bits: any number of pairs, gaps between heads and rows, sequences at positions up to the largest.
 * Formula: against double precision with angles from pow, sin and cos, and against misreadings.
 */
#include "base/rotary.h"
#include "op/check_support.h"
#include "op/rope/contract.h"
#include "op/rope/internal.h"

static const size_t dims[] = {2, 4, 6, 14, 16, 18, 22, 32, 34, 64, 66, 126, 128, 130, 256, 258};

struct shape {
    int32_t rows, sequences;
    size_t heads, width, dims;
    double base;
};

static struct vv_rope make(struct vv_check *check, const struct shape *s, const int32_t *first) {
    struct vv_window *w = vv_check_window(check, s->rows, s->sequences, first, 10);
    uint64_t *turn = vv_check_memory(check, s->dims / 2 * sizeof *turn);
    for (unsigned i = 0; i < s->dims / 2; i++) {
        turn[i] = vv_rotary_turn(s->base, i, (unsigned)s->dims);
    }
    return (struct vv_rope){.rows = {&w->rows, 1},
                            .window = w,
                            .heads = s->heads,
                            .head_stride = s->width,
                            .row_stride = s->heads * s->width,
                            .dims = s->dims,
                            .turn = turn};
}

static void bits(struct vv_check *check, int32_t rows, size_t n) {
    static const int32_t first[] = {0, 7, 262143, 1000000, INT32_MAX - 140};
    const struct shape s = {.rows = rows,
                            .sequences =
                                1 + (int32_t)vv_check_below(check, rows < 5 ? (size_t)rows : 5),
                            .heads = 1 + vv_check_below(check, 5),
                            .width = n + vv_check_below(check, 3) * 5,
                            .dims = n,
                            .base = 1e7};
    struct vv_rope a = make(check, &s, first + vv_check_below(check, 6 - (size_t)s.sequences));
    a.row_stride += vv_check_below(check, 2) * 11;
    a.x = vv_check_adversarial(check, ((size_t)rows - 1) * a.row_stride +
                                          (a.heads - 1) * a.head_stride + a.dims);
    vv_check_variants(check, &vv_rope, &a, "%d rows of %zu heads, %zu of %zu", rows, s.heads, n,
                      s.width);
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    NEIGHBOURS,
    WHOLE_HEAD,
    WHOLE_HEAD_FREQUENCIES,
    LAST_VALUES,
    BACKWARDS,
    ROW_FOR_POSITION,
    NEXT_POSITION,
    HALF_EXPONENT,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "pairs of neighbours",
    "rotation of the whole head",
    "frequencies over the whole head",
    "rotation of the last values",
    "rotation backwards",
    "number of the row for its position",
    "position + 1",
    "base^(-i/dims)",
};

/* One head in double precision. */
static void rotate(const struct shape *s, enum reading how, double position, const float *x,
                   double *y) {
    size_t n = how == WHOLE_HEAD ? s->width : s->dims;
    size_t over = how == WHOLE_HEAD_FREQUENCIES ? s->width : n;
    for (size_t i = 0; i < s->width; i++) {
        y[i] = (double)x[i];
    }
    for (size_t k = 0; k < n / 2; k++) {
        double exponent = (how == HALF_EXPONENT ? -1.0 : -2.0) * (double)k / (double)over;
        double angle = position * pow(s->base, exponent);
        double sine = how == BACKWARDS ? -sin(angle) : sin(angle), cosine = cos(angle);
        size_t i = how == NEIGHBOURS ? 2 * k : k, j = how == NEIGHBOURS ? i + 1 : k + n / 2;
        if (how == LAST_VALUES) {
            i += s->width - n, j += s->width - n;
        }
        y[i] = (double)x[i] * cosine - (double)x[j] * sine;
        y[j] = (double)x[j] * cosine + (double)x[i] * sine;
    }
}

static void readings(struct vv_check *check, size_t n, double base, int32_t rows) {
    static const int32_t first[] = {300, 2, 9000};
    const struct shape s = {
        .rows = rows, .sequences = 3, .heads = 3, .width = 2 * n, .dims = n, .base = base};
    struct vv_rope a = make(check, &s, first);
    size_t heads = (size_t)rows * s.heads, all = heads * s.width;
    float *before = vv_check_normals(check, all);
    a.x = vv_check_floats(check, all);
    memcpy(a.x, before, all * sizeof(float));
    vv_check_variants(check, &vv_rope, &a, "formula, %zu dims", n);
    double *want = vv_check_doubles(check, all);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        for (size_t h = 0; h < heads; h++) {
            size_t row = h / s.heads;
            double position = how == ROW_FOR_POSITION
                                  ? (double)row
                                  : a.window->position[row] + (how == NEXT_POSITION ? 1.0 : 0.0);
            rotate(&s, how, position, before + h * s.width, want + h * s.width);
        }
        if (how == RIGHT) {
            vv_check_near(check, "formula", a.x, want, all, 1e-6);
        } else if (n > 2 || (how != NEIGHBOURS && how != HALF_EXPONENT &&
                             how != WHOLE_HEAD_FREQUENCIES)) { /* one pair: these are right */
            vv_check_misreading(check, reading_name[how], a.x, vv_check_narrow(check, want, all),
                                all, 1e-2);
        }
    }
    vv_check_reset(check);
}

void vv_rope_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, dims[i]);
        }
        readings(check, dims[i], 1e7, 9);
        readings(check, dims[i], 10000, 4);
    }
    bits(check, 33, 64);
    bits(check, 130, 22);
}
