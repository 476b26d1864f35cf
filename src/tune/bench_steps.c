/* `varve bench OPERATION --geometry`: the operations of a model's own program. */
#include "op/gemv/contract.h"
#include "quant/format.h"
#include "tune/bench_operation.h"
#include "tune/series.h"
#include "tune/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MOST = 24, CALLS_MOST = 4096, SHAPE_MOST = VV_SHAPE_TEXT + 100 };
static const double round_seconds = 4e-3;

struct candidate {
    const struct vv_variant *variant;
    size_t calls;
    double seconds[VV_SAMPLES_MAX];
};

struct bench {
    const struct vv_bench_lines_options *options;
    struct vv_steps steps;
    struct candidate *candidates; /* [VARIANTS_MOST] */
    size_t count;
};

/* ---- what is asked for ---- */

/* By the operation's own name, or that of its folder. */
static bool is_called(const struct vv_operation *operation, const char *name) {
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        for (const struct vv_operation *const *o = (*f)->operations; *o; o++) {
            if (*o == operation && strcmp((*f)->name, name) == 0) {
                return true;
            }
        }
    }
    return strcmp(operation->name, name) == 0;
}

static bool named(const struct vv_bench_lines_options *o, const struct vv_step_group *g) {
    for (size_t i = 0; i < o->name_count; i++) {
        if (is_called(g->operation, o->names[i])) {
            return true;
        }
    }
    return o->name_count == 0;
}

/* "attn_qkv Q8_0 2560x10240": the first step's place without its layer, then the weights. */
static void shape_of(const struct vv_step_group *g, char out[SHAPE_MOST]) {
    const char *rest = strncmp(g->what, "blk.", 4) == 0 ? strchr(g->what + 4, '.') : NULL;
    snprintf(out, SHAPE_MOST, "%.90s%s%s", rest ? rest + 1 : g->what, *g->shape ? " " : "",
             g->shape);
}

/* A name that no step has is told with those that there are. */
static int check_names(const struct bench *b, struct vv_error *error) {
    const struct vv_bench_lines_options *o = b->options;
    char list[600] = "";
    for (size_t i = 0; i < b->steps.count; i++) {
        const char *name = b->steps.groups[i].operation->name;
        if (!strstr(list, name) && strlen(list) + strlen(name) + 2 < sizeof list) {
            strcat(strcat(list, " "), name);
        }
    }
    for (size_t n = 0; n < o->name_count; n++) {
        const struct vv_bench_lines_options one = {.names = &o->names[n], .name_count = 1};
        size_t i = 0;
        while (i < b->steps.count && !named(&one, &b->steps.groups[i])) {
            i++;
        }
        if (i == b->steps.count) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "no step of this model is called \"%s\"; there are:%s", o->names[n],
                           list);
        }
    }
    return VV_OK;
}

/* ---- a group ---- */

static void add(struct bench *b, const struct vv_step_group *g, const struct vv_variant *v) {
    if (b->count < VARIANTS_MOST) {
        struct candidate *c = &b->candidates[b->count++];
        double took = vv_steps_seconds(&b->steps, g, v, g->count);
        double calls = took > 0 ? round_seconds / took : CALLS_MOST;
        c->variant = v;
        c->calls = calls < 1 ? 1 : calls < CALLS_MOST ? (size_t)calls : CALLS_MOST;
    }
}

/* Those that read weights as they lie; the reference only if it is asked for by name. */
static void list_candidates(struct bench *b, const struct vv_step_group *g) {
    const char *wanted = b->options->variant;
    const struct vv_variant *v;
    b->count = 0;
    for (size_t i = 0; (v = vv_variant_at(g->operation, i)) != NULL; i++) {
        if ((wanted ? strstr(v->name, wanted) != NULL : i > 0) &&
            vv_interchangeable(v, g->rule, g->args[0], b->steps.features)) {
            add(b, g, v);
        }
    }
}

/* Products say what they compute; of other operations only the bytes are told. */
static struct vv_bench_line line_of(const struct bench *b, const struct vv_step_group *g,
                                    const char *shape, uint32_t rows) {
    struct vv_bench_line line = {
        .operation = g->operation->name, .shape = shape, .rows = rows, .type = -1};
    line.bytes = (double)vv_program_call_bytes(b->steps.trunk, g->operation, g->args[0]);
    if (g->operation == &vv_gemv) {
        const struct vv_gemv *a = g->args[0];
        double values = (double)a->weight->width * (double)a->weight->rows;
        line.operations = 2 * values * (double)*a->rows.count * (double)a->rows.times;
        line.int8 = vv_format(a->weight->type)->arithmetic != VV_ARITHMETIC_FLOAT;
    }
    return line;
}

static bool going_on(const struct bench *b) {
    return !b->options->going_on || b->options->going_on(b->options->context);
}

static int bench_group(struct bench *b, const struct vv_step_group *g, const char *shape,
                       uint32_t rows, struct vv_error *error) {
    const struct vv_bench_lines_options *o = b->options;
    list_candidates(b, g);
    for (uint32_t round = 0; round < o->rounds; round++) {
        if (!going_on(b)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        for (size_t i = 0; i < b->count; i++) {
            struct candidate *c = &b->candidates[i];
            c->seconds[round] = vv_steps_seconds(&b->steps, g, c->variant, c->calls);
        }
    }
    if (b->steps.failure.code != VV_OK) {
        *error = b->steps.failure;
        return error->code;
    }
    struct vv_bench_line line = line_of(b, g, shape, rows);
    line.rounds = o->rounds;
    for (size_t i = 0; i < b->count; i++) {
        line.variant = b->candidates[i].variant->name;
        line.seconds = b->candidates[i].seconds;
        o->line(o->context, &line);
    }
    return VV_OK;
}

/* ---- all ---- */

static int bench_rows(struct bench *b, uint32_t rows, struct vv_error *error) {
    const struct vv_bench_lines_options *o = b->options;
    int code = vv_steps_fill(&b->steps, rows, o->seed, error);
    for (size_t i = 0; code == VV_OK && i < b->steps.count; i++) {
        const struct vv_step_group *g = &b->steps.groups[i];
        char shape[SHAPE_MOST];
        shape_of(g, shape);
        if (named(o, g) && (!o->shape || strstr(shape, o->shape))) {
            code = bench_group(b, g, shape, rows, error);
        }
    }
    return code;
}

static uint32_t most_rows(const struct vv_bench_lines_options *o) {
    uint32_t most = 1;
    for (size_t i = 0; i < o->row_count; i++) {
        most = o->rows[i] > most ? o->rows[i] : most;
    }
    return most;
}

int vv_bench_steps(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session,
                   const struct vv_bench_lines_options *options, struct vv_error *error) {
    struct bench b = {.options = options};
    if (options->rounds < 1 || options->rounds > VV_SAMPLES_MAX) {
        return vv_fail(error, VV_ERROR_INVALID, "%u rounds are asked for; 1 to %d can be measured",
                       options->rounds, VV_SAMPLES_MAX);
    }
    int code = vv_steps_open(file, family, geometry, session, most_rows(options), &b.steps, error);
    if (code == VV_OK && !(b.candidates = calloc(VARIANTS_MOST, sizeof *b.candidates))) {
        code = vv_fail_memory(error, VARIANTS_MOST * sizeof *b.candidates, "candidates");
    }
    code = code == VV_OK ? check_names(&b, error) : code;
    for (size_t i = 0; code == VV_OK && i < options->row_count; i++) {
        code = options->rows[i] <= b.steps.window
                   ? bench_rows(&b, options->rows[i], error)
                   : vv_fail(error, VV_ERROR_INVALID, "%u rows are more than this model's context",
                             options->rows[i]);
    }
    free(b.candidates);
    vv_steps_close(&b.steps);
    return code;
}
