/* The router against a softmax over all experts in double precision, and four misreadings of it. */
#include "op/check_oracle.h"
#include "op/route/contract.h"
#include "op/route/internal.h"

enum misreading {
    RIGHT,
    NOT_RENORMALISED, /* softmax over all experts, used as it is */
    SIGMOID,          /* sigmoid scores, renormalised */
    HIGHER_ON_TIES,   /* of equal logits the higher expert */
    BY_RANK,          /* listed by weight instead of by expert */
};

static const char *const misreadings[] = {"", "not renormalised", "sigmoid scores",
                                          "higher expert on ties", "listed by rank"};

static struct vv_route *new_route(struct vv_check *check, int32_t rows, size_t experts,
                                  size_t used) {
    struct vv_route *a = vv_check_memory(check, sizeof *a);
    struct vv_window *w = vv_check_window(check, rows, 1, NULL, 10);
    size_t n = (size_t)rows;
    *a = (struct vv_route){vv_check_normals(check, n * experts),
                           vv_check_memory(check, n * used * sizeof(int32_t)),
                           vv_check_floats(check, n * used),
                           {&w->rows, 1},
                           experts,
                           used};
    return a;
}

/* One row as `which` reads it: repeated search for the best expert that is left. */
static void oracle(const struct vv_route *a, size_t row, enum misreading which, int32_t *expert,
                   double *weight) {
    const float *logit = a->logits + row * a->experts;
    double all = 0, sum = 0, value[1024];
    bool taken[1024] = {false};
    for (size_t e = 0; e < a->experts; e++) {
        all += exp((double)logit[e]);
    }
    for (size_t j = 0; j < a->used; j++) {
        size_t best = a->experts;
        for (size_t i = 0; i < a->experts; i++) {
            size_t e = which == HIGHER_ON_TIES ? a->experts - 1 - i : i;
            if (!taken[e] && (best == a->experts || logit[e] > logit[best])) {
                best = e;
            }
        }
        taken[best] = true;
        double l = (double)logit[best];
        value[best] = which == SIGMOID ? vv_check_sigmoid(l) : exp(l) / all;
        sum += value[best];
        expert[j] = (int32_t)best;
    }
    if (which != BY_RANK) {
        size_t n = 0;
        for (size_t e = 0; e < a->experts; e++) {
            if (taken[e]) {
                expert[n++] = (int32_t)e;
            }
        }
    }
    for (size_t j = 0; j < a->used; j++) {
        double v = value[expert[j]];
        weight[j] = which == NOT_RENORMALISED ? v : v / sum;
    }
}

static void compare_with_oracle(struct vv_check *check, const struct vv_route *a, bool ties) {
    size_t n = vv_rows(a->rows) * a->used;
    int32_t *expert = vv_check_memory(check, n * sizeof *expert);
    double *weight = vv_check_doubles(check, n);
    for (int which = RIGHT; which <= BY_RANK; which++) {
        for (size_t r = 0; r < vv_rows(a->rows); r++) {
            oracle(a, r, which, expert + r * a->used, weight + r * a->used);
        }
        if (which == RIGHT) {
            vv_check_near(check, "weights", a->weight, weight, n, 1e-5);
            vv_check_true(check, memcmp(a->expert, expert, n * sizeof *expert) == 0, "experts");
        } else if (which == NOT_RENORMALISED || which == SIGMOID) {
            vv_check_misreading(check, misreadings[which], a->weight,
                                vv_check_narrow(check, weight, n), n, 1e-3);
        } else if (which == BY_RANK || ties) {
            vv_check_misreading(check, misreadings[which], vv_check_as_floats(check, a->expert, n),
                                vv_check_as_floats(check, expert, n), n, 0);
        }
    }
}

static void check_shapes(struct vv_check *check) {
    static const size_t shapes[][2] = {{1, 1},    {2, 1},    {2, 2},   {5, 3},
                                       {8, 8},    {33, 4},   {64, 6},  {256, 10},
                                       {512, 10}, {300, 17}, {511, 9}, {160, 130}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t experts = shapes[s][0], used = shapes[s][1];
        for (int32_t rows = 1; rows <= 9; rows++) {
            struct vv_route *a = new_route(check, rows == 9 ? 40 : rows, experts, used);
            bool ties = rows % 2 == 0;
            float *logits = (float *)(uintptr_t)a->logits;
            for (size_t i = 0; ties && i < vv_rows(a->rows) * experts; i++) {
                logits[i] = rintf(logits[i] * 2) / 2; /* many equal, many of both zeros */
            }
            vv_check_variants(check, &vv_route, a, "%zu of %zu experts, %d rows, ties %d", used,
                              experts, rows, ties);
            if (experts >= 256 && rows >= 4) {
                compare_with_oracle(check, a, ties);
            }
            vv_check_reset(check);
        }
    }
}

static void check_extremes(struct vv_check *check) {
    for (size_t experts = 12; experts <= 520; experts += 127) {
        struct vv_route *a = new_route(check, 3, experts, 10);
        float *logits = vv_check_adversarial(check, 3 * experts);
        a->logits = logits;
        vv_check_variants(check, &vv_route, a, "adversarial logits, %zu experts", experts);
        for (size_t e = 0; e < experts; e++) {
            logits[experts + e] = e % 3 == 1 && e < 12 ? 2.5f : -INFINITY;
        }
        vv_check_variants(check, &vv_route, a, "-inf among the selected");
        vv_check_true(check, a->expert[10] == 0 && a->weight[10] == 0 && a->weight[11] == 0.25f,
                      "an expert at -inf fills the list, lowest first, with weight 0");
        logits[3 * experts - 1] = INFINITY;
        vv_check_refuses(check, &vv_route, a, VV_ERROR_NOT_FINITE, "+inf");
        logits[3 * experts - 1] = NAN;
        vv_check_refuses(check, &vv_route, a, VV_ERROR_NOT_FINITE, "NaN in the last logit");
        logits[3 * experts - 1] = -1e30f;
        for (size_t e = 0; e < experts; e++) {
            logits[e] = -INFINITY;
        }
        vv_check_refuses(check, &vv_route, a, VV_ERROR_NOT_FINITE, "all logits -inf");
        vv_check_reset(check);
    }
}

/* Every pair once, under its own expert, ascending. */
static bool is_grouping(const struct vv_route_group *a) {
    size_t pairs = vv_rows(a->rows) * a->used, listed = 0;
    int32_t active = 0;
    for (size_t e = 0; e < a->experts; e++) {
        if (a->begin[e] != (int32_t)listed) {
            return false;
        }
        for (; (int32_t)listed < a->begin[e + 1]; listed++) {
            if ((size_t)a->expert[a->pair[listed]] != e ||
                ((int32_t)listed > a->begin[e] && a->pair[listed] <= a->pair[listed - 1])) {
                return false;
            }
        }
        if (a->begin[e + 1] > a->begin[e] && a->active[1 + active++] != (int32_t)e) {
            return false;
        }
    }
    return listed == pairs && a->active[0] == active && (size_t)a->begin[a->experts] == pairs;
}

static void check_groups(struct vv_check *check) {
    static const size_t shapes[][2] = {{1, 1}, {2, 1}, {4, 4}, {7, 3}, {64, 6}, {512, 10}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int32_t rows = 0; rows <= 70; rows = rows < 8 ? rows + 1 : rows + 31) {
            struct vv_window *w = vv_check_window(check, rows, 1, NULL, 10);
            size_t experts = shapes[s][0], used = shapes[s][1], pairs = (size_t)rows * used;
            int32_t *expert = vv_check_memory(check, (pairs + 1) * sizeof *expert);
            struct vv_route_group a = {
                expert,
                {&w->rows, 1},
                experts,
                used,
                vv_check_memory(check, (experts + 1) * sizeof(int32_t)),
                vv_check_memory(check, (experts + 1) * sizeof(int32_t)),
                vv_check_memory(check, pairs * sizeof(int32_t)),
            };
            size_t spread = 1 + vv_check_below(check, experts); /* some experts have many rows */
            for (size_t i = 0; i < pairs; i++) {
                expert[i] = (int32_t)(experts - 1 - vv_check_below(check, spread));
            }
            vv_check_variants(check, &vv_route_group, &a, "%zu experts, %d rows", experts, rows);
            vv_check_true(check, is_grouping(&a), "%zu experts, %d rows: each pair once, in order",
                          experts, rows);
            if (pairs > 0) {
                expert[pairs - 1] = (int32_t)experts;
                vv_check_refuses(check, &vv_route_group, &a, VV_ERROR_INVALID, "expert too high");
                expert[pairs - 1] = -1;
                vv_check_refuses(check, &vv_route_group, &a, VV_ERROR_INVALID, "expert below 0");
            }
            vv_check_reset(check);
        }
    }
}

void vv_route_check(struct vv_check *check) {
    check_shapes(check);
    check_extremes(check);
    check_groups(check);
}
