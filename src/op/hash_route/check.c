/*
 * Experts and weights against double precision, with and without a table; ties, and scores whose
 * order a bias turns round; the misreadings of selection and of weights.
 */
#include "op/check_oracle.h"
#include "op/hash_route/internal.h"

struct shape {
    int32_t rows;
    size_t experts, used;
    bool table;
};

enum { TOKENS = 40 };

static struct vv_hash_route make(struct vv_check *check, const struct shape *s) {
    struct vv_window *w = vv_check_window(check, s->rows, s->rows < 3 ? 1 : 3, NULL, TOKENS);
    size_t n = (size_t)s->rows;
    struct vv_hash_route a = {.logits = vv_check_normals(check, n * s->experts),
                              .tokens = TOKENS,
                              .window = w,
                              .expert = vv_check_memory(check, n * s->used * sizeof *a.expert),
                              .weight = vv_check_floats(check, n * s->used),
                              .rows = {&w->rows, 1},
                              .experts = s->experts,
                              .used = s->used,
                              .scale = 1.5f};
    if (!s->table) {
        a.bias = vv_check_normals(check, s->experts);
        a.score = vv_check_floats(check, n * s->experts);
        return a;
    }
    int32_t *table = vv_check_memory(check, TOKENS * s->used * sizeof *table);
    for (size_t i = 0; i < TOKENS * s->used; i++) { /* in any order, some of them twice */
        table[i] = (int32_t)vv_check_below(check, s->experts);
    }
    a.table = table;
    return a;
}

enum reading {
    RIGHT,
    BIASED_WEIGHTS,
    NO_BIAS,
    BEST_BY_LOGIT, /* the bias added to logits */
    SIGMOID,       /* for sqrt softplus */
    NO_ROOT,
    SOFTMAX,
    NO_SCALE,
    NOT_NORMED,
    NORM_OVER_ALL,
    BY_ROW, /* the table by the row's number */
    BY_POSITION,
    UNSORTED, /* experts as the table has them */
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "weights with the bias",
    "selection without the bias",
    "the bias added to logits",
    "sigmoid for a score",
    "softplus without a root",
    "softmax over the chosen",
    "no scale",
    "weights that are not normed",
    "weights normed over all experts",
    "the table by the row's number",
    "the table by the row's position",
    "experts in the table's order",
};

static double score_of(const struct vv_hash_route *a, size_t row, size_t e, enum reading how) {
    double l = (double)a->logits[row * a->experts + e];
    double softplus = l > 20 ? l : log1p(exp(l));
    switch (how) {
    case SIGMOID:
        return vv_check_sigmoid(l);
    case NO_ROOT:
        return softplus;
    case SOFTMAX:
        return exp(l);
    default:
        return sqrt(softplus);
    }
}

static double rank_of(const struct vv_hash_route *a, size_t row, size_t e, enum reading how) {
    double s = how == BEST_BY_LOGIT ? (double)a->logits[row * a->experts + e]
                                    : score_of(a, row, e, how == SOFTMAX ? RIGHT : how);
    return s + (how == NO_BIAS ? 0 : (double)a->bias[e]);
}

static void choose(const struct vv_hash_route *a, size_t row, enum reading how, int32_t *expert) {
    size_t n = 0;
    for (size_t e = 0; e < a->experts; e++) {
        size_t before = 0;
        double own = rank_of(a, row, e, how);
        for (size_t i = 0; i < a->experts; i++) {
            double other = rank_of(a, row, i, how);
            before += other > own || (other == own && i < e);
        }
        if (before < a->used) {
            expert[n++] = (int32_t)e;
        }
    }
}

static void look_up(const struct vv_hash_route *a, size_t row, enum reading how, int32_t *expert) {
    const struct vv_window *w = a->window;
    size_t token = how == BY_ROW        ? row
                   : how == BY_POSITION ? (size_t)w->position[row]
                                        : (size_t)w->token[row];
    memcpy(expert, a->table + token * a->used, a->used * sizeof *expert);
    for (size_t i = 1; i < a->used && how != UNSORTED; i++) {
        for (size_t j = i; j > 0 && expert[j] < expert[j - 1]; j--) {
            int32_t swap = expert[j];
            expert[j] = expert[j - 1];
            expert[j - 1] = swap;
        }
    }
}

/* The weights of a row's experts, each a number of its own for the comparison: expert, then weight.
 */
static void formula(const struct vv_hash_route *a, size_t row, enum reading how, double *y) {
    int32_t expert[64];
    double sum = 0;
    if (a->table) {
        look_up(a, row, how, expert);
    } else {
        choose(a, row, how, expert);
    }
    for (size_t j = 0; j < a->used; j++) {
        double s = score_of(a, row, (size_t)expert[j], how);
        s += how == BIASED_WEIGHTS ? (double)a->bias[expert[j]] : 0;
        y[2 * j] = expert[j] / (double)a->experts; /* of the size of weights */
        y[2 * j + 1] = s;
        sum += how == NORM_OVER_ALL ? 0 : s;
    }
    for (size_t e = 0; how == NORM_OVER_ALL && e < a->experts; e++) {
        sum += score_of(a, row, e, how);
    }
    for (size_t j = 0; j < a->used; j++) {
        y[2 * j + 1] *= (how == NO_SCALE ? 1 : (double)a->scale) / (how == NOT_NORMED ? 1 : sum);
    }
}

static bool applies(const struct vv_hash_route *a, enum reading how) {
    switch (how) {
    case BIASED_WEIGHTS:
    case NO_BIAS:
    case BEST_BY_LOGIT:
        return !a->table;
    case BY_ROW:
    case BY_POSITION:
    case UNSORTED:
        return a->table != NULL;
    default:
        return true;
    }
}

static void readings(struct vv_check *check, const struct shape *s) {
    struct vv_hash_route a = make(check, s);
    size_t n = (size_t)s->rows, row = 2 * s->used, all = n * row;
    vv_check_variants(check, &vv_hash_route, &a, "formula, %zu of %zu%s", s->used, s->experts,
                      s->table ? ", a table" : "");
    float *got = vv_check_floats(check, all);
    double *y = vv_check_doubles(check, all);
    for (size_t i = 0; i < n * s->used; i++) {
        got[2 * i] = (float)(a.expert[i] / (double)s->experts);
        got[2 * i + 1] = a.weight[i];
    }
    for (int how = RIGHT; how < READINGS; how++) {
        if (!applies(&a, (enum reading)how)) {
            continue;
        }
        for (size_t r = 0; r < n; r++) {
            formula(&a, r, (enum reading)how, y + r * row);
        }
        if (how == RIGHT) {
            vv_check_near(check, "experts and weights", got, y, all, 1e-6);
        } else {
            vv_check_misreading(check, reading_name[how], got, vv_check_narrow(check, y, all), all,
                                1e-3);
        }
    }
    vv_check_reset(check);
}

static void bits(struct vv_check *check, const struct shape *s) {
    struct vv_hash_route a = make(check, s);
    float *logits = vv_check_adversarial(check, (size_t)s->rows * s->experts);
    vv_check_variants(check, &vv_hash_route, &a, "%d rows, %zu of %zu%s", s->rows, s->used,
                      s->experts, s->table ? ", a table" : "");
    a.logits = logits;
    vv_check_variants(check, &vv_hash_route, &a, "adversarial, %zu of %zu", s->used, s->experts);
    for (size_t i = 0; i < (size_t)s->rows * s->experts; i++) {
        logits[i] = (float)vv_check_below(check, 3) - 1.0f; /* ties */
    }
    float *bias = vv_check_floats(check, s->experts);
    for (size_t e = 0; e < s->experts; e++) {
        bias[e] = 0.0f;
    }
    a.bias = s->table ? NULL : bias;
    vv_check_variants(check, &vv_hash_route, &a, "ties, %zu of %zu", s->used, s->experts);
    for (size_t i = 0; i < (size_t)s->rows * s->experts; i++) {
        logits[i] =
            -90.0f - (float)(i % 9); /* scores below the floor of their sum, some of them 0 */
    }
    vv_check_variants(check, &vv_hash_route, &a, "tiny scores, %zu of %zu", s->used, s->experts);
    vv_check_true(check, isfinite(a.weight[0]), "tiny scores: a weight of %g", (double)a.weight[0]);
    vv_check_reset(check);
}

static void refusals(struct vv_check *check) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct vv_hash_route a = make(check, &(struct shape){3, 9, 2, false});
        ((float *)(uintptr_t)a.logits)[3 * 9 - 1] = bad[i];
        vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_NOT_FINITE, "a logit of %g",
                         (double)bad[i]);
        vv_check_reset(check);
    }
    struct vv_hash_route a = make(check, &(struct shape){3, 9, 2, false});
    ((float *)(uintptr_t)a.bias)[8] = NAN;
    vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_NOT_FINITE, "a bias of NaN");
    a = make(check, &(struct shape){3, 9, 2, true});
    int32_t *table = (int32_t *)(uintptr_t)a.table, token = a.window->token[2],
            was = table[token * 2];
    ((float *)(uintptr_t)a.logits)[2 * 9 + (size_t)was] = NAN;
    vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_NOT_FINITE, "a listed expert's logit");
    ((float *)(uintptr_t)a.logits)[2 * 9 + (size_t)was] = 0.0f;
    for (int i = 0; i < 2; i++) {
        table[token * 2 + 1] = i ? 9 : -1;
        vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_INVALID, "expert %d", i ? 9 : -1);
    }
    table[token * 2 + 1] = 0;
    ((int32_t *)(uintptr_t)a.window->token)[2] = TOKENS;
    vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_INVALID, "a token beyond the table");
    ((int32_t *)(uintptr_t)a.window->token)[2] = -1;
    vv_check_refuses(check, &vv_hash_route, &a, VV_ERROR_INVALID, "token -1");
    vv_check_reset(check);
}

void vv_hash_route_check(struct vv_check *check) {
    static const size_t shapes[][2] = {{1, 1},  {2, 1},  {7, 3},   {8, 2},   {16, 16},
                                       {33, 6}, {64, 5}, {128, 6}, {256, 6}, {300, 40}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, &(struct shape){rows, shapes[i][0], shapes[i][1], rows % 2});
        }
        if (shapes[i][1] > 1 && shapes[i][0] > shapes[i][1]) {
            readings(check, &(struct shape){24, shapes[i][0], shapes[i][1], false});
            readings(check, &(struct shape){24, shapes[i][0], shapes[i][1], true});
        }
    }
    bits(check, &(struct shape){130, 32, 6, false});
    bits(check, &(struct shape){130, 32, 6, true});
    refusals(check);
}
