/*
 * Bits: any number of pairs, gaps between heads and rows, both directions, sequences at positions
 * up to the largest. Formula: against double precision with angles from pow, sin and cos, and
 * against misreadings.
 */
#include "base/rotary.h"
#include "op/check_support.h"
#include "op/rope_pairs/internal.h"

static const size_t dims[] = {2, 4, 6, 14, 16, 18, 24, 32, 34, 62, 64, 66, 126, 128, 130, 256};

struct shape {
    int32_t rows, sequences;
    size_t heads, gap, dims;
    double base;
    bool back;
};

static struct vv_rope_pairs make(struct vv_check *check, const struct shape *s,
                                 const int32_t *first) {
    struct vv_window *w = vv_check_window(check, s->rows, s->sequences, first, 10);
    uint64_t *turn = vv_check_memory(check, s->dims / 2 * sizeof *turn);
    for (unsigned i = 0; i < s->dims / 2; i++) {
        turn[i] = vv_rotary_turn(s->base, i, (unsigned)s->dims);
    }
    return (struct vv_rope_pairs){.rows = {&w->rows, 1},
                                  .window = w,
                                  .heads = s->heads,
                                  .head_stride = s->dims + s->gap,
                                  .row_stride = s->heads * (s->dims + s->gap),
                                  .dims = s->dims,
                                  .turn = turn,
                                  .back = s->back};
}

static void bits(struct vv_check *check, int32_t rows, size_t n) {
    static const int32_t first[] = {0, 7, 262143, 1000000, INT32_MAX - 140};
    size_t most = rows < 5 ? (size_t)rows : 5;
    const struct shape s = {.rows = rows,
                            .sequences = 1 + (int32_t)vv_check_below(check, most),
                            .heads = 1 + vv_check_below(check, 5),
                            .gap = vv_check_below(check, 3) * 5,
                            .dims = n,
                            .base = 1e5,
                            .back = rows % 2};
    struct vv_rope_pairs a =
        make(check, &s, first + vv_check_below(check, 6 - (size_t)s.sequences));
    a.row_stride += vv_check_below(check, 2) * 11;
    a.x = vv_check_adversarial(check, ((size_t)rows - 1) * a.row_stride +
                                          (a.heads - 1) * a.head_stride + a.dims);
    vv_check_variants(check, &vv_rope_pairs, &a, "%d rows of %zu heads, %zu values%s", rows,
                      s.heads, n, s.back ? ", back" : "");
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    HALVES,
    OTHER_WAY,
    ROW_FOR_POSITION,
    NEXT_POSITION,
    HALF_EXPONENT,
    FREQUENCY_BY_VALUE,
    READINGS
};

static const char *const reading_name[READINGS] = {"right",
                                                   "pairs a half apart",
                                                   "rotation the other way",
                                                   "number of the row for its position",
                                                   "position + 1",
                                                   "base^(-i/dims)",
                                                   "a frequency for each value"};

/* One head in double precision. */
static void rotate(const struct shape *s, enum reading how, double position, const float *x,
                   double *y) {
    size_t n = s->dims;
    for (size_t k = 0; k < n / 2; k++) {
        double exponent = (how == HALF_EXPONENT ? -1.0 : -2.0) * (double)k / (double)n;
        exponent *= how == FREQUENCY_BY_VALUE ? 2 : 1;
        double angle = position * pow(s->base, exponent);
        double sine = s->back != (how == OTHER_WAY) ? -sin(angle) : sin(angle);
        size_t i = how == HALVES ? k : 2 * k, j = how == HALVES ? k + n / 2 : i + 1;
        y[i] = (double)x[i] * cos(angle) - (double)x[j] * sine;
        y[j] = (double)x[j] * cos(angle) + (double)x[i] * sine;
    }
}

static void readings(struct vv_check *check, size_t n, double base, int32_t rows, bool back) {
    static const int32_t first[] = {300, 2, 9000};
    const struct shape s = {
        .rows = rows, .sequences = 3, .heads = 3, .dims = n, .base = base, .back = back};
    struct vv_rope_pairs a = make(check, &s, first);
    size_t heads = (size_t)rows * s.heads, all = heads * n;
    float *before = vv_check_normals(check, all);
    a.x = vv_check_floats(check, all);
    memcpy(a.x, before, all * sizeof(float));
    vv_check_variants(check, &vv_rope_pairs, &a, "formula, %zu values", n);
    double *want = vv_check_doubles(check, all);
    for (int how = RIGHT; how < READINGS; how++) {
        for (size_t h = 0; h < heads; h++) {
            size_t row = h / s.heads;
            double position = how == ROW_FOR_POSITION
                                  ? (double)row
                                  : a.window->position[row] + (how == NEXT_POSITION ? 1.0 : 0.0);
            rotate(&s, (enum reading)how, position, before + h * n, want + h * n);
        }
        if (how == RIGHT) {
            vv_check_near(check, "formula", a.x, want, all, 1e-6);
        } else if (n > 2 || how == OTHER_WAY || how == ROW_FOR_POSITION || how == NEXT_POSITION) {
            vv_check_misreading(check, reading_name[how], a.x, vv_check_narrow(check, want, all),
                                all, 1e-2);
        }
    }
    vv_check_reset(check);
}

void vv_rope_pairs_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, dims[i]);
        }
        readings(check, dims[i], 1e5, 9, false);
        readings(check, dims[i], 10000, 4, true);
    }
    bits(check, 33, 64);
    bits(check, 130, 22);
}
