/*
 * Pooled keys against double precision, seven misreadings of them, and their independence of how
 * the tokens were cut into windows.
 */
#include "op/check_oracle.h"
#include "op/index_pool/internal.h"

enum misreading {
    RIGHT,
    NORM_THEN_POOL,
    LAST_POSITION,  /* rotated at the block's last position */
    ADJACENT_PAIRS, /* (2i, 2i + 1) */
    ROTATED_BACK,   /* by the opposite angle */
    WEIGHT_PLUS_1,  /* norm weights taken as zero-centred */
    EPS_OUTSIDE,    /* 1 / (sqrt(mean) + eps) */
    ONE_EARLIER,    /* the block's keys one position earlier */
};

static const char *const misreadings[] = {"",
                                          "norm, then pool",
                                          "rotated at the last position",
                                          "adjacent pairs",
                                          "rotated back",
                                          "norm weights plus one",
                                          "eps outside the root",
                                          "keys one earlier"};

struct shape {
    size_t ratio, width, dims;
};

/* A case: the raw keys of all positions, [slot][position][width], and a window at their end. */
struct story {
    struct vv_index_pool args;
    float *raw;
    size_t length; /* positions a slot, at most */
};

static float *raw_key(const struct story *s, int32_t slot, int64_t position) {
    return s->raw + ((size_t)slot * s->length + (size_t)position) * s->args.width;
}

/* Rows and ring as they are when a window begins: keys of the window's rows, and in the ring the
 * ratio - 1 keys before each sequence's first row. */
static void enter_window(struct vv_check *check, struct story *s, struct vv_window *w) {
    struct vv_index_pool *a = &s->args;
    float *k = vv_check_floats(check, (size_t)w->rows * a->width);
    for (int32_t r = 0; r < w->rows; r++) {
        memcpy(k + (size_t)r * a->width, raw_key(s, w->slot[r], w->position[r]),
               a->width * sizeof *k);
    }
    memset(a->ring.base, 0xff, a->ring.bytes);
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t r = w->sequence_row[w->sequence_begin[i]];
        for (int64_t d = 1; d < (int64_t)a->ratio && d <= w->position[r]; d++) {
            int64_t p = w->position[r] - d;
            memcpy(vv_state_at(&a->ring, w->slot[r], p), raw_key(s, w->slot[r], p),
                   a->width * sizeof *k);
        }
    }
    a->k = k;
    a->window = w;
    a->rows = (struct vv_rows){&w->rows, 1};
}

static struct story *new_story(struct vv_check *check, size_t slots, size_t length, struct shape s,
                               float magnitude) {
    struct story *story = vv_check_memory(check, sizeof *story);
    size_t n = slots * length * s.width, blocks = length / s.ratio + 1;
    uint64_t *turn = vv_check_memory(check, s.dims / 2 * sizeof *turn);
    for (size_t i = 0; i < s.dims / 2; i++) {
        turn[i] = vv_check_random(check) >> (1 + i % 20);
    }
    *story = (struct story){
        {.ring = vv_check_empty_state(check, VV_TYPE_F32, s.width,
                                      s.ratio + vv_check_below(check, 6), slots, true),
         .pooled = vv_check_empty_state(check, VV_TYPE_F32, s.width, blocks, slots, false),
         .norm = vv_check_normals(check, s.width),
         .turn = turn,
         .dims = s.dims,
         .width = s.width,
         .ratio = s.ratio,
         .eps = 1e-6f},
        vv_check_normals(check, n),
        length};
    for (size_t i = 0; i < n; i++) {
        story->raw[i] *= magnitude;
    }
    return story;
}

static void oracle_norm(const struct vv_index_pool *a, double *y, enum misreading which) {
    double squares = 0, eps = (double)a->eps;
    for (size_t i = 0; i < a->width; i++) {
        squares += y[i] * y[i] / (double)a->width;
    }
    for (size_t i = 0; i < a->width; i++) {
        double weight = (double)a->norm[i] + (which == WEIGHT_PLUS_1);
        y[i] *= weight / (which == EPS_OUTSIDE ? sqrt(squares) + eps : sqrt(squares + eps));
    }
}

/* The entry of block b as `which` reads it; width at most 512. */
static void oracle(const struct story *s, int32_t slot, int64_t b, enum misreading which,
                   double *entry) {
    const struct vv_index_pool *a = &s->args;
    int64_t ratio = (int64_t)a->ratio, first = b * ratio;
    double y[512] = {0}, key[512];
    for (int64_t t = first; t < first + ratio; t++) {
        const float *k = raw_key(s, slot, which == ONE_EARLIER && t > 0 ? t - 1 : t);
        for (size_t i = 0; i < a->width; i++) {
            key[i] = (double)k[i];
        }
        if (which == NORM_THEN_POOL) {
            oracle_norm(a, key, which);
        }
        for (size_t i = 0; i < a->width; i++) {
            y[i] += key[i] / (double)ratio;
        }
    }
    if (which != NORM_THEN_POOL) {
        oracle_norm(a, y, which);
    }
    uint64_t position = (uint64_t)(which == LAST_POSITION ? first + ratio - 1 : first);
    for (size_t p = 0; p < a->dims / 2; p++) {
        size_t i = which == ADJACENT_PAIRS ? 2 * p : p;
        size_t j = which == ADJACENT_PAIRS ? 2 * p + 1 : p + a->dims / 2;
        double angle = (double)(position * a->turn[p]) * 0x1p-64 * 6.283185307179586;
        double c = cos(angle), n = which == ROTATED_BACK ? -sin(angle) : sin(angle), low = y[i];
        y[i] = low * c - y[j] * n;
        y[j] = y[j] * c + low * n;
    }
    for (size_t i = 0; i < a->width; i++) {
        entry[i] = y[i];
    }
}

/* The window's complete blocks against every reading. */
static void compare_with_oracle(struct vv_check *check, const struct story *s, bool tiny) {
    const struct vv_index_pool *a = &s->args;
    const struct vv_window *w = a->window;
    size_t n = 0, rows = (size_t)w->rows;
    float *right = vv_check_floats(check, rows * a->width);
    double *truth = vv_check_doubles(check, rows * a->width);
    for (int which = RIGHT; which <= ONE_EARLIER; which++) {
        n = 0;
        for (size_t r = 0; r < rows; r++) {
            int64_t length = w->position[r] + 1, block = length / (int64_t)a->ratio - 1;
            if (length % (int64_t)a->ratio == 0) {
                memcpy(right + n, vv_state_at(&a->pooled, w->slot[r], block), a->width * 4);
                oracle(s, w->slot[r], block, (enum misreading)which, truth + n);
                n += a->width;
            }
        }
        if (which == RIGHT) {
            vv_check_near(check, "pooled keys", right, truth, n, 1e-5);
        } else if (which != EPS_OUTSIDE || tiny) {
            vv_check_misreading(check, misreadings[which], right, vv_check_narrow(check, truth, n),
                                n, 1e-3);
        }
    }
}

static void check_case(struct vv_check *check, int32_t rows, int32_t sequences, int32_t first,
                       struct shape shape, float magnitude) {
    int32_t firsts[3] = {first, first / 2, 0};
    struct story *s = new_story(check, (size_t)sequences, (size_t)(first + rows), shape, magnitude);
    enter_window(check, s, vv_check_window(check, rows, sequences, firsts, 10));
    vv_check_variants(check, &vv_index_pool, &s->args,
                      "ratio %zu, %zu of %zu rotated, %d rows of %d sequences at %d", shape.ratio,
                      shape.dims, shape.width, rows, sequences, first);
    if (shape.width >= 64 && shape.ratio > 1 && rows > 6 && first >= 63) {
        compare_with_oracle(check, s, magnitude < 1);
    }
    vv_check_reset(check);
}

/* One sequence in windows of random sizes, by every variant, against one window of all rows. */
static void check_windowing(struct vv_check *check, struct shape shape) {
    enum { LENGTH = 41 };
    struct story *s = new_story(check, 1, LENGTH, shape, 1);
    const struct vv_state_view pooled = s->args.pooled;
    for (const struct vv_variant *v = vv_index_pool.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) != 0) {
            continue;
        }
        uint8_t *whole = vv_check_memory(check, pooled.bytes);
        enter_window(check, s, vv_check_window(check, LENGTH, 1, NULL, 10));
        memset(pooled.base, 0xff, pooled.bytes);
        int error = v->run(&s->args, 0, LENGTH);
        memcpy(whole, pooled.base, pooled.bytes);
        memset(pooled.base, 0xff, pooled.bytes);
        for (int32_t at = 0, rows; at < LENGTH && error == VV_OK; at += rows) {
            rows = 1 + (int32_t)vv_check_below(check, 6);
            rows = rows > LENGTH - at ? LENGTH - at : rows;
            enter_window(check, s, vv_check_window(check, rows, 1, &at, 10));
            error = v->run(&s->args, 0, (size_t)rows);
        }
        vv_check_true(check, error == VV_OK && memcmp(whole, pooled.base, pooled.bytes) == 0,
                      "%s: ratio %zu, width %zu: entries depend on the windows", v->name,
                      shape.ratio, shape.width);
    }
    vv_check_reset(check);
}

static void check_errors(struct vv_check *check) {
    static const float bad[] = {NAN, INFINITY, 3e38f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct story *s = new_story(check, 1, 8, (struct shape){4, 128, 64}, 1);
        raw_key(s, 0, 3)[127] = bad[i];
        enter_window(check, s, vv_check_window(check, 8, 1, NULL, 10));
        vv_check_refuses(check, &vv_index_pool, &s->args, VV_ERROR_NOT_FINITE, "a key of %g",
                         (double)bad[i]);
        vv_check_reset(check);
    }
}

void vv_index_pool_check(struct vv_check *check) {
    static const struct shape shapes[] = {{1, 1, 0},   {2, 2, 2},    {3, 15, 8},   {4, 64, 32},
                                          {3, 80, 80}, {4, 128, 64}, {4, 129, 64}, {5, 300, 20}};
    static const int32_t firsts[] = {0, 1, 2, 3, 4, 63, 64, 65, 126};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            int32_t rows = 1 + (int32_t)((i * 3 + f) % 8);
            check_case(check, rows, rows < 4 ? 1 : 2, firsts[f], shapes[i], 1);
            check_case(check, 34, 3, firsts[f], shapes[i], 1e-3f);
        }
        check_windowing(check, shapes[i]);
    }
    check_errors(check);
}
