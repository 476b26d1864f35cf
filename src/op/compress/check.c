/*
 * Pooled rows against double precision, the specification's example, the misreadings of them, and
 * their independence of how the tokens were cut into windows.
 */
#include "op/check_oracle.h"
#include "op/compress/internal.h"

enum reading {
    RIGHT,
    MEAN, /* every candidate alike */
    NO_APE,
    APE_BY_CANDIDATE, /* numbered from the block before on */
    ONE_GATE,         /* channel 0's for all */
    HALVES_SWAPPED,   /* the block before by the second half */
    NO_BLOCK_BEFORE,
    ZERO_BEFORE_FIRST, /* block 0 has candidates of score and value 0 */
    LAST_POSITION,     /* rotated at the block's last position */
    ROW_POSITION,      /* rotated by the block's number */
    FIRST_VALUES,      /* rotates the first values */
    HALF_PAIRS,        /* pairs a half apart */
    WEIGHT_PLUS_1,
    NORM_FIRST, /* pairs, then norm: another weight on them */
    ONE_EARLIER,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "mean",
    "no position's bias",
    "biases from the block before on",
    "one gate for all channels",
    "halves swapped",
    "no block before",
    "zeros before the first block",
    "rotated at the last position",
    "rotated by the block's number",
    "the first values rotated",
    "pairs a half apart",
    "norm weights plus one",
    "rotation, then norm",
    "tokens one earlier",
};

struct shape {
    size_t ratio, width, dims;
    bool overlap;
};

/* A case: k and g of all positions, [slot][position][channels], and a window at their end. */
struct story {
    struct vv_compress_rows args;
    float *k, *g;
    size_t length; /* positions a slot, at most */
};

static float *at(const struct story *s, float *from, int32_t slot, int64_t position) {
    size_t channels = vv_compress_channels(&s->args);
    return from + ((size_t)slot * s->length + (size_t)position) * channels;
}

static struct story *new_story(struct vv_check *check, size_t slots, size_t length,
                               struct shape s) {
    struct story *story = vv_check_memory(check, sizeof *story);
    size_t channels = s.overlap ? 2 * s.width : s.width, n = slots * length * channels;
    size_t held = (s.overlap ? 2 * s.ratio : s.ratio) - 1 + vv_check_below(check, 6);
    uint64_t *turn = vv_check_memory(check, s.dims / 2 * sizeof *turn);
    for (size_t i = 0; i < s.dims / 2; i++) {
        turn[i] = vv_check_random(check) >> (1 + i % 20);
    }
    *story = (struct story){{.ring = vv_check_empty_state(check, VV_TYPE_F32, 2 * channels,
                                                          held ? held : 1, slots, true),
                             .ape = vv_check_normals(check, s.ratio * channels),
                             .norm = vv_check_normals(check, s.width),
                             .turn = turn,
                             .ratio = s.ratio,
                             .width = s.width,
                             .dims = s.dims,
                             .eps = 1e-6f,
                             .overlap = s.overlap},
                            vv_check_normals(check, n),
                            vv_check_normals(check, n),
                            length};
    return story;
}

/* Rows and ring as they are when a window begins. */
static void enter_window(struct vv_check *check, struct story *s, struct vv_window *w) {
    struct vv_compress_rows *a = &s->args;
    size_t channels = vv_compress_channels(a), rows = (size_t)w->rows, bytes = channels * 4;
    int64_t back = (int64_t)(a->overlap ? 2 * a->ratio : a->ratio);
    float *k = vv_check_floats(check, rows * channels),
          *g = vv_check_floats(check, rows * channels);
    for (int32_t r = 0; r < w->rows; r++) {
        memcpy(k + (size_t)r * channels, at(s, s->k, w->slot[r], w->position[r]), bytes);
        memcpy(g + (size_t)r * channels, at(s, s->g, w->slot[r], w->position[r]), bytes);
    }
    memset(a->ring.base, 0xff, a->ring.bytes);
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t r = w->sequence_row[w->sequence_begin[i]];
        for (int64_t d = 1; d < back && d <= w->position[r]; d++) {
            int64_t p = w->position[r] - d;
            float *entry = vv_state_at(&a->ring, w->slot[r], p);
            memcpy(entry, at(s, s->k, w->slot[r], p), bytes);
            memcpy(entry + channels, at(s, s->g, w->slot[r], p), bytes);
        }
    }
    a->k = k;
    a->g = g;
    a->y = vv_check_floats(check, rows * a->width);
    a->window = w;
    a->rows = (struct vv_rows){&w->rows, 1};
}

/* One channel of block b before the norm. */
static double pooled(const struct story *s, int32_t slot, int64_t b, size_t d, enum reading how) {
    const struct vv_compress_rows *a = &s->args;
    int64_t ratio = (int64_t)a->ratio, first = b * ratio;
    size_t channels = vv_compress_channels(a);
    bool before = a->overlap && how != NO_BLOCK_BEFORE;
    double sum = 0, y = 0;
    for (int64_t t = before ? first - ratio : first; t < first + ratio; t++) {
        if (t < 0) {
            sum += how == ZERO_BEFORE_FIRST;
            continue;
        }
        int64_t from = how == ONE_EARLIER && t > 0 ? t - 1 : t;
        bool second = a->overlap && (t >= first) != (how == HALVES_SWAPPED);
        size_t channel = second ? a->width + d : d;
        size_t of = how == ONE_GATE ? channel - d : channel;
        int64_t place = how == APE_BY_CANDIDATE ? (t - first + ratio) / 2 : t % ratio;
        double gate = (double)at(s, s->g, slot, from)[of];
        gate += how == NO_APE ? 0 : (double)a->ape[(size_t)place * channels + of];
        double e = how == MEAN ? 1 : exp(gate);
        sum += e;
        y += e * (double)at(s, s->k, slot, from)[channel];
    }
    return y / sum;
}

static void norm(const struct vv_compress_rows *a, double *y, enum reading how) {
    double squares = 0;
    for (size_t i = 0; i < a->width; i++) {
        squares += y[i] * y[i] / (double)a->width;
    }
    for (size_t i = 0; i < a->width; i++) {
        y[i] *= ((double)a->norm[i] + (how == WEIGHT_PLUS_1)) / sqrt(squares + (double)a->eps);
    }
}

static void turn(const struct vv_compress_rows *a, int64_t b, double *y, enum reading how) {
    int64_t ratio = (int64_t)a->ratio;
    uint64_t position = (uint64_t)(how == LAST_POSITION  ? b * ratio + ratio - 1
                                   : how == ROW_POSITION ? b
                                                         : b * ratio);
    double *x = how == FIRST_VALUES ? y : y + a->width - a->dims;
    for (size_t p = 0; p < a->dims / 2; p++) {
        size_t i = how == HALF_PAIRS ? p : 2 * p, j = how == HALF_PAIRS ? p + a->dims / 2 : i + 1;
        double angle = (double)(position * a->turn[p]) * 0x1p-64 * 6.283185307179586;
        double c = cos(angle), n = sin(angle), low = x[i];
        x[i] = low * c - x[j] * n;
        x[j] = x[j] * c + low * n;
    }
}

static void oracle(const struct story *s, int32_t slot, int64_t b, enum reading how, double *y) {
    for (size_t d = 0; d < s->args.width; d++) {
        y[d] = pooled(s, slot, b, d, how);
    }
    if (how == NORM_FIRST) {
        turn(&s->args, b, y, how);
    }
    norm(&s->args, y, how);
    if (how != NORM_FIRST) {
        turn(&s->args, b, y, how);
    }
}

static bool applies(const struct vv_compress_rows *a, enum reading how, bool first, bool later) {
    switch (how) {
    case APE_BY_CANDIDATE:
    case HALVES_SWAPPED:
    case NO_BLOCK_BEFORE:
        return a->overlap && later;
    case ZERO_BEFORE_FIRST:
        return a->overlap && first;
    case ROW_POSITION:
        return a->ratio > 1 && later && a->dims > 0;
    case FIRST_VALUES:
        return later && a->dims < a->width && a->dims > 0;
    case HALF_PAIRS:
        return later && a->dims > 2;
    case NORM_FIRST:
        return later && a->dims > 0;
    case LAST_POSITION:
        return a->ratio > 1 && a->dims > 0;
    case ONE_EARLIER:
        return later || a->ratio > 1;
    case MEAN:
    case NO_APE:
        return a->ratio > 1;
    default:
        return true;
    }
}

/* The window's complete blocks against every reading. */
static void compare_with_oracle(struct vv_check *check, const struct story *s) {
    const struct vv_compress_rows *a = &s->args;
    const struct vv_window *w = a->window;
    size_t rows = (size_t)w->rows, n = 0;
    bool first = false, later = false;
    float *right = vv_check_floats(check, rows * a->width);
    double *truth = vv_check_doubles(check, rows * a->width);
    for (int how = RIGHT; how < READINGS; how++) {
        n = 0;
        for (size_t r = 0; r < rows; r++) {
            if (!vv_compress_completes(a, r)) {
                continue;
            }
            int64_t block = w->position[r] / (int64_t)a->ratio;
            first = first || block == 0;
            later = later || block > 0;
            memcpy(right + n, a->y + r * a->width, a->width * sizeof *right);
            oracle(s, w->slot[r], block, (enum reading)how, truth + n);
            n += a->width;
        }
        if (how == RIGHT) {
            vv_check_near(check, "pooled rows", right, truth, n, 2e-5);
        } else if (n > 0 && applies(a, (enum reading)how, first, later)) {
            vv_check_misreading(check, reading_name[how], right, vv_check_narrow(check, truth, n),
                                n, 1e-3);
        }
    }
}

static void check_case(struct vv_check *check, int32_t rows, int32_t sequences, int32_t first,
                       struct shape shape) {
    int32_t firsts[3] = {first, first / 2, 0};
    struct story *s = new_story(check, (size_t)sequences, (size_t)(first + rows), shape);
    enter_window(check, s, vv_check_window(check, rows, sequences, firsts, 10));
    vv_check_variants(check, &vv_compress_rows, &s->args,
                      "ratio %zu, %zu of %zu rotated%s, %d rows of %d sequences at %d", shape.ratio,
                      shape.dims, shape.width, shape.overlap ? ", overlap" : "", rows, sequences,
                      first);
    if (shape.width >= 15 && rows >= (int32_t)shape.ratio) {
        compare_with_oracle(check, s);
    }
    vv_check_reset(check);
}

/* One sequence in windows of random sizes, by every variant, against one window of all rows. */
static void check_windowing(struct vv_check *check, struct shape shape) {
    int32_t length = 3 * (int32_t)shape.ratio + 2;
    struct story *s = new_story(check, 1, (size_t)length, shape);
    size_t width = shape.width, bytes = width * sizeof(float);
    for (const struct vv_variant *v = vv_compress_rows.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) != 0) {
            continue;
        }
        enter_window(check, s, vv_check_window(check, length, 1, NULL, 10));
        const float *whole = s->args.y;
        int error = v->run(&s->args, 0, (size_t)length);
        bool same = true;
        for (int32_t begin = 0, rows; begin < length && error == VV_OK; begin += rows) {
            rows = 1 + (int32_t)vv_check_below(check, 6);
            rows = rows > length - begin ? length - begin : rows;
            enter_window(check, s, vv_check_window(check, rows, 1, &begin, 10));
            error = v->run(&s->args, 0, (size_t)rows);
            for (size_t r = 0; r < (size_t)rows; r++) {
                size_t position = (size_t)begin + r;
                same =
                    same && (!vv_compress_completes(&s->args, r) ||
                             memcmp(whole + position * width, s->args.y + r * width, bytes) == 0);
            }
        }
        vv_check_true(check, error == VV_OK && same,
                      "%s: ratio %zu, width %zu: rows depend on the windows", v->name, shape.ratio,
                      width);
    }
    vv_check_reset(check);
}

/* The specification's example of overlapping blocks: weights 1, so what is left after the norm is
 * their direction. */
static void published(struct vv_check *check) {
    static const double rows[2][2] = {{1.8229328, 1.9229328}, {3.7014487, 3.8638631}};
    struct story *s = new_story(check, 1, 8, (struct shape){4, 2, 0, true});
    float *ape = vv_check_floats(check, 16), *ones = vv_check_floats(check, 2);
    for (int t = 0; t < 8; t++) {
        for (int c = 0; c < 4; c++) {
            s->k[t * 4 + c] = (float)(t + 0.1 * c);
            s->g[t * 4 + c] = (float)(0.2 * ((3 * t + c) % 5));
            ape[t % 4 * 4 + c] = (float)(0.1 * (t % 4) - 0.05 * c);
        }
    }
    ones[0] = ones[1] = 1.0f;
    s->args.ape = ape;
    s->args.norm = ones;
    s->args.eps = 0;
    enter_window(check, s, vv_check_window(check, 8, 1, NULL, 10));
    vv_check_variants(check, &vv_compress_rows, &s->args, "the published example");
    for (size_t b = 0; b < 2; b++) {
        double size = sqrt((rows[b][0] * rows[b][0] + rows[b][1] * rows[b][1]) / 2);
        double want[2] = {rows[b][0] / size, rows[b][1] / size};
        vv_check_near(check, "the published example", s->args.y + (4 * b + 3) * 2, want, 2, 1e-6);
    }
    vv_check_reset(check);
}

static void check_errors(struct vv_check *check) {
    static const float bad[] = {NAN, INFINITY, 3e38f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct story *s = new_story(check, 1, 8, (struct shape){4, 65, 64, true});
        at(s, s->k, 0, 6)[129] = bad[i];
        enter_window(check, s, vv_check_window(check, 8, 1, NULL, 10));
        vv_check_refuses(check, &vv_compress_rows, &s->args, VV_ERROR_NOT_FINITE, "a value of %g",
                         (double)bad[i]);
        at(s, s->k, 0, 6)[129] = 1.0f;
        at(s, s->g, 0, 2)[64] = i < 2 ? bad[i] : -INFINITY;
        at(s, s->g, 0, 1)[64] = at(s, s->g, 0, 0)[64] = at(s, s->g, 0, 3)[64] = -INFINITY;
        enter_window(check, s, vv_check_window(check, 8, 1, NULL, 10));
        for (size_t c = 0; i == 2 && c < 4; c++) { /* a channel whose gates are all -inf */
            at(s, s->g, 0, (int64_t)c)[129] = -INFINITY;
        }
        enter_window(check, s, vv_check_window(check, 8, 1, NULL, 10));
        vv_check_refuses(check, &vv_compress_rows, &s->args, VV_ERROR_NOT_FINITE, "a gate of %g",
                         i < 2 ? (double)bad[i] : -(double)INFINITY);
        vv_check_reset(check);
    }
}

void vv_compress_check(struct vv_check *check) {
    static const struct shape shapes[] = {
        {1, 1, 0, false},   {2, 2, 2, true},     {3, 15, 8, false},
        {4, 64, 32, true},  {3, 80, 80, true},   {4, 129, 64, true},
        {8, 300, 20, true}, {16, 88, 24, false}, {128, 40, 16, false}};
    static const int32_t firsts[] = {0, 1, 3, 4, 7, 63, 64, 127, 130};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            int32_t rows = 1 + (int32_t)((i * 3 + f) % 8);
            check_case(check, rows, rows < 4 ? 1 : 2, firsts[f], shapes[i]);
            if (!vv_check_quick(check) || f % 3 == i % 3) {
                check_case(check, shapes[i].ratio > 34 ? 140 : 34, 3, firsts[f], shapes[i]);
            }
        }
        check_windowing(check, shapes[i]);
    }
    published(check);
    check_errors(check);
}
