#include "tune/tune.h"
#include "tune/series.h"
#include "tune/steps.h"

#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MOST = 24, PAIRS = 8, CALLS_MOST = 256, WARM_CALLS = 2 };
static const double round_seconds = 2e-3;
static const double hopeless = 4;       /* times as slow as the rule's: not measured further */
static const double gain_least = 0.02;  /* a smaller one is not worth a line in a profile */
static const double chance_most = 0.05; /* p of the second measurement */

struct candidate {
    const struct vv_variant *variant;
    size_t index; /* in the operation's table */
    size_t calls;
    double seconds[VV_SAMPLES_MAX];
};

struct tune {
    const struct vv_tune_options *options;
    struct vv_steps steps;
    bool (*out)[VARIANTS_MOST];   /* [groups]: too slow at fewer rows already */
    struct candidate *candidates; /* [VARIANTS_MOST] */
    uint64_t done, total;
};

static double seconds_of(struct tune *t, const struct vv_step_group *g,
                         const struct vv_variant *variant, size_t calls) {
    return vv_steps_seconds(&t->steps, g, variant, calls);
}

static bool *out_of(const struct tune *t, const struct vv_step_group *g) {
    return t->out[g - t->steps.groups];
}

/* ---- the first measurement ---- */

static void add_candidate(struct tune *t, const struct vv_step_group *g, size_t *count,
                          const struct vv_variant *v, size_t index) {
    double took = seconds_of(t, g, v, WARM_CALLS);
    double calls = took > 0 ? round_seconds / took : CALLS_MOST;
    t->candidates[*count].variant = v;
    t->candidates[*count].index = index;
    t->candidates[*count].calls = calls < 1 ? 1 : calls < CALLS_MOST ? (size_t)calls : CALLS_MOST;
    (*count)++;
}

/* The rule's first, then those that may stand in for it. The reference is no candidate. */
static size_t list_candidates(struct tune *t, const struct vv_step_group *g) {
    size_t count = 0;
    const struct vv_variant *v;
    add_candidate(t, g, &count, g->rule, 0);
    for (size_t index = 1; (v = vv_variant_at(g->operation, index)) != NULL; index++) {
        if (v != g->rule && index < VARIANTS_MOST && count < VARIANTS_MOST &&
            !out_of(t, g)[index] && vv_interchangeable(v, g->rule, g->args[0], t->steps.features)) {
            add_candidate(t, g, &count, v, index);
        }
    }
    return count;
}

/* Index of the one with the least time. */
static size_t measure_all(struct tune *t, struct vv_step_group *g, size_t count) {
    const uint32_t rounds = t->options->rounds;
    for (uint32_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < count; i++) {
            struct candidate *c = &t->candidates[i];
            c->seconds[r] = seconds_of(t, g, c->variant, c->calls);
        }
    }
    double rule = vv_series_of(t->candidates[0].seconds, rounds).least, least = rule;
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        double mine = vv_series_of(t->candidates[i].seconds, rounds).least;
        best = mine < least ? i : best;
        least = mine < least ? mine : least;
        out_of(t, g)[t->candidates[i].index] = mine > hopeless * rule;
    }
    return least < rule * (1 - gain_least) ? best : 0;
}

/* ---- the second measurement ---- */

static void confirm(struct tune *t, const struct vv_step_group *g, const struct candidate *best,
                    struct vv_tune_line *line) {
    const struct candidate *rule = &t->candidates[0];
    double a[PAIRS], b[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        for (size_t k = 0; k < 2; k++) { /* now the one first, now the other */
            const struct candidate *c = (i + k) % 2 == 0 ? rule : best;
            double took = seconds_of(t, g, c->variant, c->calls) * 1e6;
            *((i + k) % 2 == 0 ? &a[i] : &b[i]) = took;
        }
    }
    line->rule_us = vv_series_of(a, PAIRS).median;
    line->us = vv_series_of(b, PAIRS).median;
    line->p = vv_permutation_p(a, b, PAIRS);
    line->kept = line->p <= chance_most && line->us < line->rule_us * (1 - gain_least);
}

static void tune_group(struct tune *t, struct vv_step_group *g, uint32_t rows) {
    size_t count = vv_program_joins(g->rule, rows) ? 0 : list_candidates(t, g);
    if (count < 2) {
        return;
    }
    size_t best = measure_all(t, g, count);
    const struct candidate *c = &t->candidates[best];
    struct vv_tune_line line = {
        .operation = g->operation->name,
        .shape = g->shape,
        .rows = rows,
        .rule = g->rule->name,
        .variant = c->variant->name,
        .rule_us = vv_series_of(t->candidates[0].seconds, t->options->rounds).median * 1e6,
        .us = vv_series_of(c->seconds, t->options->rounds).median * 1e6,
        .p = 1,
    };
    if (best > 0) {
        confirm(t, g, c, &line);
    }
    t->options->line(t->options->context, &line);
}

/* ---- all ---- */

static int tune_class(struct tune *t, size_t row_class, struct vv_error *error) {
    const struct vv_tune_options *o = t->options;
    uint32_t rows = vv_row_class_rows(row_class);
    bool fits = rows <= t->steps.window;
    int code = fits ? vv_steps_fill(&t->steps, rows, o->seed, error) : VV_OK;
    for (size_t i = 0; code == VV_OK && fits && i < t->steps.count; i++) {
        if (o->progress && !o->progress(o->context, "tuning", t->done++, t->total)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        tune_group(t, &t->steps.groups[i], rows);
        if (t->steps.failure.code != VV_OK) {
            *error = t->steps.failure;
            code = error->code;
        }
    }
    return code;
}

static int open_all(struct tune *t, const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, struct vv_error *error) {
    int code = vv_steps_open(file, family, geometry, t->options->session,
                             vv_row_class_rows(VV_ROW_CLASSES - 1), &t->steps, error);
    if (code != VV_OK) {
        return code;
    }
    t->out = calloc(t->steps.count + 1, sizeof *t->out);
    t->candidates = calloc(VARIANTS_MOST, sizeof *t->candidates);
    t->total = (uint64_t)t->steps.count * VV_ROW_CLASSES;
    return t->out && t->candidates
               ? VV_OK
               : vv_fail_memory(error, VARIANTS_MOST * sizeof *t->candidates, "candidates");
}

static void close_all(struct tune *t) {
    free(t->out);
    free(t->candidates);
    vv_steps_close(&t->steps);
}

int vv_tune_variants(const struct vv_gguf *file, const struct vv_family *family,
                     const void *geometry, const struct vv_tune_options *options,
                     struct vv_error *error) {
    struct tune t = {.options = options};
    if (options->rounds < 1 || options->rounds > VV_SAMPLES_MAX) {
        return vv_fail(error, VV_ERROR_INVALID, "%u rounds are asked for; 1 to %d can be measured",
                       options->rounds, VV_SAMPLES_MAX);
    }
    int code = open_all(&t, file, family, geometry, error);
    for (size_t i = 0; code == VV_OK && i < VV_ROW_CLASSES; i++) {
        code = tune_class(&t, i, error);
    }
    close_all(&t);
    return code;
}
