/* Draws against a walk along the rank, which is found by repeated search, and against misreadings
 * of the chain; scores that tie, overflow, or are banned. */
#include "base/random.h"
#include "op/check_oracle.h"
#include "op/sample/contract.h"
#include "op/sample/internal.h"
#include "op/sample/weights.h"

enum misreading {
    RIGHT,
    HIGHER_ON_TIES,     /* of equal scores the higher token goes first */
    WITHOUT_THE_LAST,   /* top_p leaves out the token that reaches the sum */
    OF_ALL,             /* top_p of the sum over the vocabulary, not of what top_k left */
    MIN_P_OF_THE_SUM,   /* not of the likeliest token */
    HOT_FILTERS,        /* they see the temperature of the draw */
    ONE_MORE,           /* top_k + 1 */
    ONE_NUMBER_FOR_ALL, /* whatever the position */
    MISREADINGS
};

static const char *const misreadings[] = {
    "",
    "higher token on ties",
    "top_p without the token that reaches it",
    "top_p of the whole vocabulary",
    "min_p of the sum",
    "filters at the draw's temperature",
    "top_k + 1",
    "one random number for all positions",
};

/* ---- the oracle ---- */

struct ranked {
    float z;
    int32_t token;
    uint64_t w, v;
};

/* The next of the rank among those that are not `taken`; -1: none. */
static int32_t next_of(const float *z, const bool *taken, size_t n, enum misreading which) {
    int32_t best = -1;
    for (size_t i = 0; i < n; i++) {
        bool better = best < 0 || z[i] > z[best] || (which == HIGHER_ON_TIES && z[i] == z[best]);
        if (!taken[i] && z[i] > -INFINITY && better) {
            best = (int32_t)i;
        }
    }
    return best;
}

static size_t rank(struct vv_check *check, const float *z, size_t n, const struct vv_draw *d,
                   enum misreading which, struct ranked *ranked) {
    bool *taken = vv_check_memory(check, n * sizeof *taken);
    size_t count = 0;
    int32_t token;
    memset(taken, 0, n * sizeof *taken);
    while ((token = next_of(z, taken, n, which)) >= 0) {
        float top = count ? ranked->z : z[token];
        float seen = which == HOT_FILTERS ? d->temperature : d->filtering;
        taken[token] = true;
        ranked[count++] = (struct ranked){z[token], token, vv_draw_weight(z[token], top, seen),
                                          vv_draw_weight(z[token], top, d->temperature)};
    }
    return count;
}

static uint64_t sum_of_w(const struct ranked *ranked, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += ranked[i].w;
    }
    return sum;
}

static size_t by_mass(const struct ranked *ranked, size_t kept, size_t all, float top_p,
                      enum misreading which) {
    uint64_t need = vv_draw_need(top_p, sum_of_w(ranked, which == OF_ALL ? all : kept)), sum = 0;
    for (size_t i = 0; i < kept && top_p != 1.0f; i++) {
        sum += ranked[i].w;
        if (sum >= need) {
            return which == WITHOUT_THE_LAST && i > 0 ? i : i + 1;
        }
    }
    return kept;
}

static int32_t oracle(struct vv_check *check, const float *z, size_t n, const struct vv_draw *d,
                      enum misreading which) {
    struct ranked *ranked = vv_check_memory(check, n * sizeof *ranked);
    size_t all = rank(check, z, n, d, which, ranked), kept = all;
    if (d->temperature == 0.0f) {
        return ranked->token;
    }
    size_t k = (size_t)d->top_k + (which == ONE_MORE);
    kept = d->top_k > 0 && k < kept ? k : kept;
    kept = by_mass(ranked, kept, all, d->top_p, which);
    uint64_t least = which == MIN_P_OF_THE_SUM
                         ? (uint64_t)((double)d->min_p * (double)sum_of_w(ranked, kept))
                         : vv_draw_least(d->min_p);
    uint64_t sum = 0, upto = 0;
    for (size_t i = 0; i < kept; i++) {
        ranked[i].v = i > 0 && ranked[i].w < least ? 0 : ranked[i].v;
        sum += ranked[i].v;
    }
    uint64_t random = vv_random_at(d->seed, which == ONE_NUMBER_FOR_ALL ? 0 : d->position);
    uint64_t x = vv_high_product(random, sum);
    size_t i = 0;
    while (i + 1 < kept && (upto += ranked[i].v) <= x) {
        i++;
    }
    return ranked[i].token;
}

/* ---- cases ---- */

static struct vv_sample *new_sample(struct vv_check *check, int32_t rows, size_t vocabulary,
                                    enum vv_draws draws) {
    struct vv_sample *a = vv_check_memory(check, sizeof *a);
    struct vv_window *w = vv_check_window(check, rows, 1, NULL, 10);
    size_t n = (size_t)rows;
    float *z = vv_check_normals(check, n * vocabulary);
    for (size_t i = 0; i < n * vocabulary; i++) {
        z[i] *= 4;
    }
    w->draws = (int32_t)draws;
    w->draw = vv_check_memory(check, n * sizeof *w->draw);
    *a = (struct vv_sample){
        z, vv_check_memory(check, n * sizeof(int32_t)), vocabulary, w, {&w->outputs, 1}};
    return a;
}

static float *logits_of(const struct vv_sample *a) {
    return (float *)(uintptr_t)a->logits;
}

static const struct vv_draw plain = {.wanted = 1, .temperature = 1, .filtering = 1, .top_p = 1};

/* The same for all rows, but for the position. */
static void draw_all(struct vv_check *check, const struct vv_sample *a, struct vv_draw draw) {
    draw.seed = vv_check_random(check);
    for (size_t r = 0; r < vv_rows(a->rows); r++) {
        draw.position = r + 1;
        a->window->draw[r] = draw;
    }
}

/* Any settings; some rows aren't drawn. */
static struct vv_draw any_draw(struct vv_check *check, size_t vocabulary) {
    static const float temperatures[] = {0.0f, 0.01f, 0.7f, 1.0f, 1.5f, 30.0f, 1e-30f, 3e38f};
    struct vv_draw d = plain;
    d.wanted = vv_check_below(check, 8) > 0;
    d.seed = vv_check_random(check);
    d.position = vv_check_random(check);
    d.temperature = temperatures[vv_check_below(check, 8)];
    d.filtering = vv_check_below(check, 3) ? d.temperature : 1.0f;
    d.top_k = vv_check_below(check, 2) ? (int32_t)vv_check_below(check, 2 + vocabulary / 2) : 0;
    d.top_p = vv_check_below(check, 2) ? vv_check_uniform(check, 0, 1) : 1.0f;
    d.min_p = vv_check_below(check, 3) ? 0.0f : vv_check_uniform(check, 0, 0.3f);
    return d;
}

/* ---- misreadings ---- */

static void read(struct vv_check *check, const struct vv_draw *draw, enum misreading which,
                 float ties) {
    enum { ROWS = 24, VOCABULARY = 60 };
    int32_t *token = vv_check_memory(check, ROWS * sizeof *token);
    struct vv_sample *a = new_sample(check, ROWS, VOCABULARY, VV_DRAWS_WEIGHED);
    draw_all(check, a, *draw);
    for (size_t i = 0; i < (size_t)ROWS * VOCABULARY; i++) {
        logits_of(a)[i] = ties > 0 ? rintf(a->logits[i] / ties) * ties : a->logits[i] / 4;
    }
    vv_check_variants(check, &vv_sample, a, "against %s", misreadings[which]);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < ROWS; r++) {
            token[r] = oracle(check, a->logits + r * VOCABULARY, VOCABULARY, &a->window->draw[r],
                              pass ? which : RIGHT);
        }
        if (pass == 0) {
            vv_check_true(check, memcmp(token, a->token, sizeof *token * ROWS) == 0, "tokens");
        }
    }
    vv_check_misreading(check, misreadings[which], vv_check_as_floats(check, a->token, ROWS),
                        vv_check_as_floats(check, token, ROWS), ROWS, 0);
    vv_check_reset(check);
}

static void check_misreadings(struct vv_check *check) {
    const struct vv_draw greedy = {.wanted = 1};
    struct vv_draw d = plain;
    read(check, &greedy, HIGHER_ON_TIES, 4);
    read(check, &plain, HIGHER_ON_TIES, 2);
    read(check, &plain, ONE_NUMBER_FOR_ALL, 0);
    d.top_p = 0.5f;
    read(check, &d, WITHOUT_THE_LAST, 0);
    d.top_k = 20;
    read(check, &d, OF_ALL, 0);
    d = plain;
    d.top_k = 3;
    read(check, &d, ONE_MORE, 0);
    d = plain;
    d.min_p = 0.05f;
    read(check, &d, MIN_P_OF_THE_SUM, 0);
    d.min_p = 0.2f;
    d.temperature = 3.0f;
    read(check, &d, HOT_FILTERS, 0);
}

/* ---- bits ---- */

static void check_settings(struct vv_check *check) {
    static const size_t vocabularies[] = {1, 2, 31, 33, 300, 1500, 4100, 20001};
    size_t count = sizeof vocabularies / sizeof *vocabularies;
    for (size_t v = 0; v < count - vv_check_quick(check); v++) {
        for (int32_t rows = 1; rows <= 9; rows += 4) {
            struct vv_sample *a = new_sample(check, rows, vocabularies[v], VV_DRAWS_WEIGHED);
            for (int32_t r = 0; r < rows; r++) {
                a->window->draw[r] = any_draw(check, vocabularies[v]);
            }
            vv_check_variants(check, &vv_sample, a, "%d rows of %zu", rows, vocabularies[v]);
            vv_check_reset(check);
        }
    }
}

/* Many tokens of one score: more than a bin can list. */
static void check_ties(struct vv_check *check) {
    static const float steps[] = {1, 8, 64};
    for (size_t s = 0; s < 3; s++) {
        struct vv_sample *a = new_sample(check, 6, 1300, VV_DRAWS_WEIGHED);
        for (size_t i = 0; i < 6u * 1300; i++) {
            logits_of(a)[i] = rintf(a->logits[i] / steps[s]) * steps[s] * (i % 2 ? 1.0f : -0.0f);
        }
        for (size_t r = 0; r < 6; r++) {
            a->window->draw[r] = any_draw(check, 1300);
        }
        vv_check_variants(check, &vv_sample, a, "ties, %g apart", (double)steps[s]);
        vv_check_reset(check);
    }
}

static void check_extremes(struct vv_check *check) {
    static const float edges[] = {0.0f,           -0.0f,    0x1p-149f, -0x1p-149f, 3.4028235e38f,
                                  -3.4028235e38f, INFINITY, -INFINITY, 1.0f,       -1.0f};
    for (int i = 0; i < 6; i++) {
        struct vv_sample *a = new_sample(check, 7, 400, VV_DRAWS_WEIGHED);
        size_t kinds = i % 2 ? 10 : 6; /* without infinities */
        for (size_t k = 0; k < 7u * 400; k++) {
            logits_of(a)[k] = edges[vv_check_below(check, kinds)];
        }
        for (size_t r = 0; r < 7; r++) {
            a->window->draw[r] = any_draw(check, 400);
            a->window->draw[r].wanted = r != 5;
        }
        for (size_t k = 0; k < 400; k++) {
            logits_of(a)[400 + k] = -INFINITY;
            logits_of(a)[800 + k] = k == 399 ? -3e38f : -INFINITY;
        }
        logits_of(a)[3 * 400 + 399] = i % 3 ? NAN : -NAN;
        vv_check_variants(check, &vv_sample, a, "edges of the order");
        vv_check_true(check, a->token[1] == -1 && a->token[3] == -1 && a->token[5] == -1,
                      "all banned, a NaN, not asked for: no token");
        vv_check_true(check, a->token[2] == 399, "all banned but the last token");
        vv_check_reset(check);
    }
}

static void check_greedy(struct vv_check *check) {
    for (size_t n = 1; n < 10000; n = n * 3 + 1) {
        struct vv_sample *a = new_sample(check, 4, n, n % 2 ? VV_DRAWS_GREEDY : VV_DRAWS_WEIGHED);
        draw_all(check, a, (struct vv_draw){.wanted = 1});
        vv_check_variants(check, &vv_sample, a, "greedy, %zu tokens", n);
        vv_check_reset(check);
    }
    struct vv_sample *a = new_sample(check, 3, 100, VV_DRAWS_NONE);
    vv_check_variants(check, &vv_sample, a, "a window without draws");
    vv_check_reset(check);
}

void vv_sample_check(struct vv_check *check) {
    check_misreadings(check);
    check_settings(check);
    check_ties(check);
    check_extremes(check);
    check_greedy(check);
}
