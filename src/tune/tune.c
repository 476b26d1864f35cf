#include "tune/tune.h"
#include "base/clock.h"
#include "device/cpu/team.h"
#include "registry/tuning.h"
#include "sample/random.h"
#include "tune/series.h"

#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MOST = 24, PAIRS = 8, CALLS_MOST = 256, WARM_CALLS = 2 };
static const double round_seconds = 2e-3;
static const double hopeless = 4;       /* times as slow as the rule's: not measured further */
static const double gain_least = 0.02;  /* a smaller one is not worth a line in a profile */
static const double chance_most = 0.05; /* p of the second measurement */

/* Steps of one operation and shape: a set of weights for each layer. */
struct group {
    const struct vv_operation *operation;
    const struct vv_variant *rule;
    char shape[VV_SHAPE_TEXT];
    const void **args; /* [count] */
    size_t count;
    bool out[VARIANTS_MOST]; /* too slow at fewer rows already */
};

struct candidate {
    const struct vv_variant *variant;
    size_t index; /* in the operation's table */
    size_t calls;
    double seconds[VV_SAMPLES_MAX];
};

struct tune {
    const struct vv_tune_options *options;
    struct vv_session *session;
    struct vv_placement placement;
    struct vv_team *team;
    uint32_t features, window, outputs;
    size_t vocabulary;
    struct group *groups;
    size_t count;
    struct candidate *candidates; /* [VARIANTS_MOST] */
    uint64_t done, total;
};

/* ---- one variant on a group ---- */

struct work {
    const struct group *group;
    const struct vv_variant *variant;
    size_t calls;
};

/* Call after call the next layer's step, as a program's threads do it. */
static void run_calls(void *context, struct vv_team *team, unsigned thread) {
    const struct work *w = context;
    for (size_t i = 0; i < w->calls; i++) {
        const void *args = w->group->args[i % w->group->count];
        size_t units = w->group->operation->units(args);
        struct vv_share s = vv_team_share(team, thread, i);
        size_t begin = units * s.before / s.all, end = units * (s.before + s.own) / s.all;
        if (begin < end) {
            w->variant->run(args, begin, end);
        }
        vv_team_barrier(team);
    }
}

static double seconds_of(struct tune *t, const struct group *g, const struct vv_variant *variant,
                         size_t calls) {
    struct work w = {g, variant, calls};
    double began = vv_seconds();
    vv_team_run(t->team, run_calls, &w);
    return (vv_seconds() - began) / (double)calls;
}

/* ---- the first measurement ---- */

static void add_candidate(struct tune *t, const struct group *g, size_t *count,
                          const struct vv_variant *v, size_t index) {
    double took = seconds_of(t, g, v, WARM_CALLS);
    double calls = took > 0 ? round_seconds / took : CALLS_MOST;
    t->candidates[*count].variant = v;
    t->candidates[*count].index = index;
    t->candidates[*count].calls = calls < 1 ? 1 : calls < CALLS_MOST ? (size_t)calls : CALLS_MOST;
    (*count)++;
}

/* The rule's first, then those that may stand in for it. The reference is no candidate. */
static size_t list_candidates(struct tune *t, const struct group *g) {
    size_t count = 0;
    const struct vv_variant *v;
    add_candidate(t, g, &count, g->rule, 0);
    for (size_t index = 1; (v = vv_variant_at(g->operation, index)) != NULL; index++) {
        if (v != g->rule && index < VARIANTS_MOST && count < VARIANTS_MOST && !g->out[index] &&
            vv_interchangeable(v, g->rule, g->args[0], t->features)) {
            add_candidate(t, g, &count, v, index);
        }
    }
    return count;
}

/* Index of the one with the least time. */
static size_t measure_all(struct tune *t, struct group *g, size_t count) {
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
        g->out[t->candidates[i].index] = mine > hopeless * rule;
    }
    return least < rule * (1 - gain_least) ? best : 0;
}

/* ---- the second measurement ---- */

static void confirm(struct tune *t, const struct group *g, const struct candidate *best,
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

static void tune_group(struct tune *t, struct group *g, uint32_t rows) {
    size_t count = list_candidates(t, g);
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

/* ---- groups ---- */

static struct group *group_of(struct tune *t, const struct vv_program_call *call) {
    char shape[VV_SHAPE_TEXT];
    vv_shape_text(call->operation, call->args, shape);
    for (size_t i = 0; i < t->count; i++) {
        struct group *g = &t->groups[i];
        if (g->operation == call->operation && g->rule == call->rule &&
            strcmp(g->shape, shape) == 0) {
            return g;
        }
    }
    struct group *g = &t->groups[t->count++];
    g->operation = call->operation;
    g->rule = call->rule;
    memcpy(g->shape, shape, sizeof shape);
    return g;
}

static int list_groups(struct tune *t, struct vv_error *error) {
    const struct vv_program *trunk = vv_session_program(t->session, 0);
    size_t steps = vv_program_steps(trunk);
    t->groups = calloc(steps + 1, sizeof *t->groups);
    t->candidates = calloc(VARIANTS_MOST, sizeof *t->candidates);
    bool memory = t->groups && t->candidates;
    for (size_t i = 0; memory && i < steps; i++) {
        struct vv_program_call call;
        vv_program_call(trunk, i, &call);
        struct group *g = group_of(t, &call);
        const void **more = realloc(g->args, (g->count + 1) * sizeof *more);
        memory = more != NULL;
        if (memory) {
            g->args = more;
            g->args[g->count++] = call.args;
        }
    }
    t->total = (uint64_t)t->count * VV_ROW_CLASSES;
    return memory ? VV_OK : vv_fail_memory(error, steps * sizeof *t->groups, "a list of shapes");
}

/* ---- rows ---- */

/* Leaves the program's window with that many rows, and its buffers with what they compute. */
static int fill_window(struct tune *t, uint32_t rows, struct vv_error *error) {
    struct vv_row *list = calloc(rows, sizeof *list);
    if (!list) {
        return vv_fail_memory(error, rows * sizeof *list, "a window");
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t drawn = vv_random_at(t->options->seed, (uint64_t)rows << 32 | i);
        list[i] = (struct vv_row){0, (int32_t)vv_high_product(drawn, t->vocabulary),
                                  rows <= t->outputs || i + 1 == rows};
    }
    vv_session_clear(t->session, 0);
    int code = vv_session_run(t->session, list, rows, VV_ADVANCE, error);
    free(list);
    return code;
}

static int tune_class(struct tune *t, size_t row_class, struct vv_error *error) {
    const struct vv_tune_options *o = t->options;
    uint32_t rows = vv_row_class_rows(row_class);
    int code = rows <= t->window ? fill_window(t, rows, error) : VV_OK;
    for (size_t i = 0; code == VV_OK && rows <= t->window && i < t->count; i++) {
        if (o->progress && !o->progress(o->context, "tuning", t->done++, t->total)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        tune_group(t, &t->groups[i], rows);
    }
    return code;
}

/* ---- all ---- */

static int open_all(struct tune *t, const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, struct vv_error *error) {
    struct vv_session_options s = *t->options->session;
    struct vv_model_facts facts;
    family->facts(geometry, &facts);
    t->vocabulary = facts.vocabulary;
    t->features = s.features & vv_cpu_features();
    t->window = vv_row_class_rows(VV_ROW_CLASSES - 1);
    t->window = t->window < facts.context ? t->window : (uint32_t)facts.context;
    t->outputs = VV_VERIFY_ROWS_MAX < t->window ? VV_VERIFY_ROWS_MAX : t->window;
    s.slots = 1;
    s.context = s.window = t->window;
    s.outputs = t->outputs;
    s.tuning = NULL;
    s.device = VV_DEVICE_CPU;
    s.profile = s.observe = false;
    int code = vv_place_here(s.numa, s.threads, &t->placement, error);
    if (code == VV_OK) {
        t->team = vv_team_new(&t->placement, error);
        code = t->team ? VV_OK : error->code;
    }
    return code == VV_OK ? vv_session_new(file, family, geometry, &s, &t->session, error) : code;
}

static void close_all(struct tune *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->groups[i].args);
    }
    free(t->groups);
    free(t->candidates);
    vv_session_free(t->session);
    vv_team_free(t->team);
    vv_placement_free(&t->placement);
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
    code = code == VV_OK ? list_groups(&t, error) : code;
    for (size_t i = 0; code == VV_OK && i < VV_ROW_CLASSES; i++) {
        code = tune_class(&t, i, error);
    }
    close_all(&t);
    return code;
}
