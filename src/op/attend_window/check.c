/*
 * Attention over the newest rows and pooled ones against double precision, and the misreadings of
 * what a row sees and of the sink; a list of all blocks against no list, and the independence of
 * how rows were cut into windows, bit for bit.
 */
#include "gguf/types.h"
#include "op/attend_window/internal.h"
#include "op/check_oracle.h"

enum reading {
    RIGHT,
    SPAN_MORE, /* one position more */
    SPAN_LESS,
    NOT_OWN, /* the row's own position is not seen */
    NO_SINK,
    SINK_SCALED,
    SINK_BY_ROW,
    NO_SCALE,
    NO_POOLED,
    POOLED_EARLY,     /* a block that is not complete */
    POOLED_LATE,      /* the block that the row completes is not seen */
    COVERED_LEFT_OUT, /* blocks whose tokens are among the newest rows */
    OTHER_SEQUENCE,
    RING_FOR_OWN, /* rows of the window as the ring has them */
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "one position more",
    "one position less",
    "the row itself left out",
    "no sink",
    "the sink scaled",
    "the sink of the row's number",
    "no scale",
    "no pooled rows",
    "a block that is not complete",
    "without the block that ends here",
    "no blocks of the newest rows",
    "another sequence's rows",
    "the ring for the window's rows",
};

struct shape {
    size_t heads, width, span, ratio; /* ratio 0: no pooled rows */
    int type;
};

/* A case: what all positions of all slots left, and a window at their end. */
struct story {
    struct vv_attend_window args;
    float *row; /* [slot][position][width] */
    size_t length;
};

static float *row_at(const struct story *s, int32_t slot, int64_t position) {
    return s->row + ((size_t)slot * s->length + (size_t)position) * s->args.width;
}

static void put(const struct vv_state_view *v, int32_t slot, int64_t index, const float *from) {
    void *entry = vv_state_at(v, slot, index);
    for (size_t i = 0; i < v->width; i++) {
        if (v->type == VV_TYPE_F16) {
            ((uint16_t *)entry)[i] = vv_to_f16(from[i]);
        } else {
            ((float *)entry)[i] = from[i];
        }
    }
}

static struct story *new_story(struct vv_check *check, size_t slots, size_t length,
                               struct shape s) {
    struct story *story = vv_check_memory(check, sizeof *story);
    size_t held = s.span + vv_check_below(check, 4), n = slots * length * s.width;
    *story =
        (struct story){{.ring = vv_check_empty_state(check, s.type, s.width, held, slots, true),
                        .ratio = s.ratio,
                        .span = s.span,
                        .sink = vv_check_normals(check, s.heads),
                        .heads = s.heads,
                        .width = s.width,
                        .scale = 1 / sqrtf((float)s.width)},
                       vv_check_normals(check, n),
                       length};
    for (size_t i = 0; i < n && s.type == VV_TYPE_F16; i++) {
        story->row[i] = vv_from_f16(vv_to_f16(story->row[i]));
    }
    if (s.ratio > 0) {
        size_t blocks = length / s.ratio + 1;
        story->args.pooled = vv_check_empty_state(check, s.type, s.width, blocks, slots, false);
        for (size_t slot = 0; slot < slots; slot++) {
            for (size_t b = 0; b < blocks; b++) {
                vv_check_entry(check, &story->args.pooled, slot, (int64_t)b);
            }
        }
    }
    return story;
}

/* Rows and ring as they are when a window begins; q is the caller's. */
static void enter_window(struct vv_check *check, struct story *s, struct vv_window *w) {
    struct vv_attend_window *a = &s->args;
    size_t rows = (size_t)w->rows;
    float *own = vv_check_floats(check, rows * a->width);
    for (int32_t r = 0; r < w->rows; r++) {
        memcpy(own + (size_t)r * a->width, row_at(s, w->slot[r], w->position[r]),
               a->width * sizeof *own);
    }
    memset(a->ring.base, 0xff, a->ring.bytes);
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t r = w->sequence_row[w->sequence_begin[i]];
        for (int64_t d = 1; d < (int64_t)a->span && d <= w->position[r]; d++) {
            int64_t p = w->position[r] - d;
            put(&a->ring, w->slot[r], p, row_at(s, w->slot[r], p));
        }
    }
    a->own = own;
    a->y = vv_check_floats(check, rows * a->heads * a->width);
    a->window = w;
    a->rows = (struct vv_rows){&w->rows, 1};
}

/* Lists for all rows: `keep` random blocks of those a row sees, or all of them. */
static void add_lists(struct vv_check *check, struct vv_attend_window *a, size_t keep) {
    struct vv_check_lists l = vv_check_lists(check, a->window, vv_rows(a->rows), keep, a->ratio);
    a->list = l.list;
    a->listed = l.listed;
    a->keep = keep;
}

/* ---- the oracle ---- */

struct sums {
    double most, sum, *o;
};

static void take(const struct vv_attend_window *a, const float *q, const float *row, double scale,
                 struct sums *s) {
    double z = 0;
    for (size_t i = 0; i < a->width; i++) {
        z += (double)q[i] * (double)row[i];
    }
    double e = exp(z * scale);
    s->sum += e;
    for (size_t i = 0; i < a->width; i++) {
        s->o[i] += e * (double)row[i];
    }
}

static bool sees_block(const struct vv_attend_window *a, size_t row, size_t b, enum reading how) {
    size_t p = (size_t)a->window->position[row], seen = (p + 1) / a->ratio;
    seen = how == POOLED_EARLY ? seen + 1 : seen;
    seen = how == POOLED_LATE ? p / a->ratio : seen;
    if (how == NO_POOLED || b >= seen ||
        (how == COVERED_LEFT_OUT && (b + 1) * a->ratio + a->span > p + 1)) {
        return false;
    }
    for (int32_t i = 0; a->list && i < a->listed[row]; i++) {
        if ((size_t)a->list[row * a->keep + (size_t)i] == b) {
            return true;
        }
    }
    return !a->list || b >= (p + 1) / a->ratio;
}

static void block_row(const struct vv_attend_window *a, int32_t slot, size_t b, float *to) {
    const void *entry = vv_state_at(&a->pooled, slot, (int64_t)b);
    for (size_t i = 0; i < a->width; i++) {
        to[i] = a->pooled.type == VV_TYPE_F16 ? vv_from_f16(((const uint16_t *)entry)[i])
                                              : ((const float *)entry)[i];
    }
}

static void oracle(const struct story *s, size_t row, size_t head, enum reading how, double *o) {
    const struct vv_attend_window *a = &s->args;
    const struct vv_window *w = a->window;
    const float *q = a->q + (row * a->heads + head) * a->width;
    double scale = how == NO_SCALE ? 1 : (double)a->scale;
    int32_t slot = w->slot[row], p = w->position[row];
    int64_t first = (int64_t)p + 1 - (int64_t)a->span - (how == SPAN_MORE) + (how == SPAN_LESS);
    double sink = (double)a->sink[how == SINK_BY_ROW ? row % a->heads : head];
    struct sums sums = {.o = o};
    float pooled[512];
    slot = how == OTHER_SEQUENCE ? (slot + 1) % w->sequences : slot;
    memset(o, 0, a->width * sizeof *o);
    for (int64_t t = first > 0 ? first : 0; t <= p - (how == NOT_OWN); t++) {
        bool stale = how == RING_FOR_OWN && t > p - 3 && t > 0;
        take(a, q, row_at(s, slot, stale ? t - 1 : t), scale, &sums);
    }
    for (size_t b = 0; a->pooled.base && b * a->ratio <= (size_t)p; b++) {
        if (sees_block(a, row, b, how)) {
            block_row(a, slot, b, pooled);
            take(a, q, pooled, scale, &sums);
        }
    }
    sums.sum += how == NO_SINK ? 0 : exp(how == SINK_SCALED ? sink * scale : sink);
    for (size_t i = 0; i < a->width; i++) {
        o[i] /= sums.sum;
    }
}

static bool ends_block(const struct vv_attend_window *a) {
    for (size_t r = 0; r < vv_rows(a->rows); r++) {
        if (((size_t)a->window->position[r] + 1) % a->ratio == 0) {
            return true;
        }
    }
    return false;
}

static bool applies(const struct vv_attend_window *a, enum reading how) {
    switch (how) {
    case POOLED_LATE:
        return a->pooled.base && !a->list && ends_block(a);
    case NO_POOLED:
    case POOLED_EARLY:
    case COVERED_LEFT_OUT:
        return a->pooled.base && !a->list;
    case OTHER_SEQUENCE:
        return a->window->sequences > 1;
    default:
        return true;
    }
}

static void compare_with_oracle(struct vv_check *check, const struct story *s) {
    const struct vv_attend_window *a = &s->args;
    size_t units = vv_rows(a->rows) * a->heads, all = units * a->width;
    double *truth = vv_check_doubles(check, all);
    for (int how = RIGHT; how < READINGS; how++) {
        if (!applies(a, (enum reading)how)) {
            continue;
        }
        for (size_t u = 0; u < units; u++) {
            oracle(s, u / a->heads, u % a->heads, (enum reading)how, truth + u * a->width);
        }
        if (how == RIGHT) {
            vv_check_near(check, "attention", a->y, truth, all, 1e-5);
        } else {
            vv_check_misreading(check, reading_name[how], a->y, vv_check_narrow(check, truth, all),
                                all, 1e-3);
        }
    }
}

/* ---- cases ---- */

static void check_case(struct vv_check *check, int32_t rows, int32_t first, struct shape shape,
                       bool compare) {
    int32_t firsts[3] = {first, first / 2, first}, sequences = rows < 3 ? 1 : 1 + rows % 3;
    struct story *s = new_story(check, (size_t)sequences, (size_t)(first + rows) + 1, shape);
    struct vv_attend_window *a = &s->args;
    size_t n = (size_t)rows * shape.heads * shape.width;
    a->q = vv_check_normals(check, n);
    enter_window(check, s, vv_check_window(check, rows, sequences, firsts, 10));
    vv_check_variants(check, &vv_attend_window, a,
                      "%zu heads of %zu, span %zu, ratio %zu, %d rows at %d", shape.heads,
                      shape.width, shape.span, shape.ratio, rows, first);
    float *all = vv_check_floats(check, n);
    memcpy(all, a->y, n * sizeof *all);
    if (compare) {
        compare_with_oracle(check, s);
    }
    if (shape.ratio > 0) {
        size_t whole = (size_t)(first + rows) / shape.ratio + 1;
        add_lists(check, a, whole);
        vv_check_variants(check, &vv_attend_window, a, "list of all: span %zu, ratio %zu",
                          shape.span, shape.ratio);
        vv_check_true(check, memcmp(all, a->y, n * sizeof *all) == 0,
                      "a list of all blocks is not the same as none: ratio %zu, %d rows at %d",
                      shape.ratio, rows, first);
        add_lists(check, a, 1 + whole / 3);
        vv_check_variants(check, &vv_attend_window, a, "list: span %zu, ratio %zu, keep %zu",
                          shape.span, shape.ratio, a->keep);
        if (compare) {
            compare_with_oracle(check, s);
        }
    }
    vv_check_reset(check);
}

/* One sequence in windows of random sizes against one window of all rows. */
static void check_windowing(struct vv_check *check, struct shape shape) {
    enum { LENGTH = 150 };
    struct story *s = new_story(check, 1, LENGTH + 1, shape);
    size_t row = shape.heads * shape.width;
    float *q = vv_check_normals(check, LENGTH * row);
    for (const struct vv_variant *v = vv_attend_window.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) != 0) {
            continue;
        }
        s->args.q = q;
        enter_window(check, s, vv_check_window(check, LENGTH, 1, NULL, 10));
        const float *whole = s->args.y;
        int error = v->run(&s->args, 0, LENGTH * shape.heads);
        bool same = true;
        for (int32_t at = 0, rows; at < LENGTH && error == VV_OK; at += rows) {
            rows = 1 + (int32_t)vv_check_below(check, 9);
            rows = rows > LENGTH - at ? LENGTH - at : rows;
            s->args.q = q + (size_t)at * row;
            enter_window(check, s, vv_check_window(check, rows, 1, &at, 10));
            error = v->run(&s->args, 0, (size_t)rows * shape.heads);
            same = same &&
                   memcmp(whole + (size_t)at * row, s->args.y, (size_t)rows * row * sizeof *q) == 0;
        }
        vv_check_true(check, error == VV_OK && same, "%s: rows depend on the windows", v->name);
    }
    vv_check_reset(check);
}

static void check_errors(struct vv_check *check) {
    static const struct shape shape = {2, 40, 16, 4, VV_TYPE_F32};
    static const float bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < 2; i++) {
        struct story *s = new_story(check, 1, 140, shape);
        s->args.q = vv_check_normals(check, (size_t)2 * 2 * 40);
        enter_window(check, s, vv_check_window(check, 2, 1, (int32_t[]){130}, 10));
        ((float *)(uintptr_t)s->args.q)[3 * 40 + 7] = bad[i];
        vv_check_refuses(check, &vv_attend_window, &s->args, VV_ERROR_NOT_FINITE, "a query of %g",
                         (double)bad[i]);
        vv_check_reset(check);
    }
    struct story *s = new_story(check, 1, 140, shape);
    s->args.q = vv_check_normals(check, (size_t)2 * 2 * 40);
    enter_window(check, s, vv_check_window(check, 2, 1, (int32_t[]){130}, 10));
    add_lists(check, &s->args, 8);
    int32_t *list = (int32_t *)(uintptr_t)s->args.list;
    int32_t *listed = (int32_t *)(uintptr_t)s->args.listed;
    static const int32_t blocks[] = {33, -1}; /* the row at 131 sees blocks 0 .. 32 */
    for (size_t i = 0; i < 2; i++) {
        list[15] = blocks[i];
        vv_check_refuses(check, &vv_attend_window, &s->args, VV_ERROR_INVALID, "block %d",
                         blocks[i]);
    }
    list[15] = 32;
    listed[1] = 9;
    vv_check_refuses(check, &vv_attend_window, &s->args, VV_ERROR_INVALID,
                     "more blocks than the list has");
    vv_check_reset(check);
}

/* Scores and sinks of hundreds; a sink that is all there is. */
static void check_extremes(struct vv_check *check) {
    struct story *s = new_story(check, 2, 160, (struct shape){4, 72, 70, 4, VV_TYPE_F32});
    struct vv_attend_window *a = &s->args;
    float *q = vv_check_normals(check, (size_t)4 * 4 * 72), *sink = vv_check_floats(check, 4);
    for (size_t i = 0; i < (size_t)4 * 4 * 72; i++) {
        q[i] *= i / 72 % 2 ? 60.0f : 1e-30f;
    }
    sink[0] = 300.0f;
    sink[1] = -300.0f;
    sink[2] = -INFINITY;
    sink[3] = 1e30f;
    a->q = q;
    a->sink = sink;
    enter_window(check, s, vv_check_window(check, 4, 2, (int32_t[]){150, 90}, 10));
    vv_check_variants(check, &vv_attend_window, a, "scores and sinks of hundreds");
    vv_check_true(check, a->y[3 * 72] == 0.0f, "a sink of 1e30 leaves %g", (double)a->y[3 * 72]);
    vv_check_reset(check);
}

void vv_attend_window_check(struct vv_check *check) {
    enum { F32 = VV_TYPE_F32, F16 = VV_TYPE_F16 };
    static const struct shape shapes[] = {
        {1, 1, 1, 0, F32},   {2, 7, 2, 1, F16},    {4, 16, 13, 4, F16},     {6, 64, 16, 4, F32},
        {3, 88, 13, 3, F32}, {18, 33, 64, 8, F32}, {20, 128, 40, 128, F16}, {5, 160, 128, 0, F16},
    };
    static const int32_t firsts[] = {0, 1, 12, 13, 63, 64, 126, 127, 128, 254};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            int32_t rows = 1 + (int32_t)((i + f) % 8);
            bool compare = shapes[i].width >= 16 && shapes[i].span > 3 && rows > 3 &&
                           firsts[f] >= 126 && shapes[i].ratio != 128;
            if (!vv_check_quick(check) || shapes[i].heads * shapes[i].width < 1000 ||
                f % 3 == i % 3) {
                check_case(check, rows, firsts[f], shapes[i], compare);
            }
        }
    }
    check_case(check, 70, 0, shapes[2], true); /* a prompt: more rows than the span */
    check_case(check, 140, 3, shapes[6], false);
    check_case(check, 2, 700, (struct shape){64, 512, 128, 4, F16}, false); /* as released */
    check_case(check, 3, 250, (struct shape){43, 384, 72, 4, F32}, false);
    check_windowing(check, shapes[2]);
    check_windowing(check, shapes[4]);
    check_windowing(check, shapes[6]);
    check_extremes(check);
    check_errors(check);
}
