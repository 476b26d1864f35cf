#include "tune/steps.h"
#include "base/clock.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

static struct vv_step_group *group_of(struct vv_steps *s, const struct vv_program_call *call,
                                      const char *what) {
    char shape[VV_SHAPE_TEXT];
    vv_shape_text(call->operation, call->args, shape);
    for (size_t i = 0; i < s->count; i++) {
        struct vv_step_group *g = &s->groups[i];
        if (g->operation == call->operation && g->rule == call->rule &&
            strcmp(g->shape, shape) == 0) {
            return g;
        }
    }
    struct vv_step_group *g = &s->groups[s->count++];
    g->operation = call->operation;
    g->rule = call->rule;
    g->what = what;
    memcpy(g->shape, shape, sizeof shape);
    return g;
}

static int list_groups(struct vv_steps *s, struct vv_error *error) {
    const struct vv_program *trunk = s->trunk;
    size_t steps = vv_program_steps(trunk);
    s->groups = calloc(steps + 1, sizeof *s->groups);
    bool memory = s->groups != NULL;
    for (size_t i = 0; memory && i < steps; i++) {
        struct vv_program_call call;
        struct vv_program_step step;
        vv_program_call(trunk, i, &call);
        vv_program_step(trunk, i, &step);
        struct vv_step_group *g = group_of(s, &call, step.what);
        const void **more = realloc(g->args, (g->count + 1) * sizeof *more);
        memory = more != NULL;
        if (memory) {
            g->args = more;
            g->args[g->count++] = call.args;
        }
    }
    return memory ? VV_OK : vv_fail_memory(error, steps * sizeof *s->groups, "a list of shapes");
}

/* ---- open and close ---- */

static int open_team(struct vv_steps *steps, const struct vv_session_options *o,
                     struct vv_error *error) {
    int code = vv_place_here(o->numa, o->threads, &steps->placement, error);
    if (code == VV_OK) {
        steps->team = vv_team_new(&steps->placement, error);
        code = steps->team ? VV_OK : error->code;
    }
    return code;
}

int vv_steps_open(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                  const struct vv_session_options *session, uint32_t window, struct vv_steps *steps,
                  struct vv_error *error) {
    struct vv_session_options o = *session;
    struct vv_model_facts facts;
    family->facts(geometry, &facts);
    steps->vocabulary = facts.vocabulary;
    steps->window = window < facts.context ? window : (uint32_t)facts.context;
    steps->outputs = VV_VERIFY_ROWS_MAX < steps->window ? VV_VERIFY_ROWS_MAX : steps->window;
    o.slots = 1;
    o.context = o.window = steps->window;
    o.outputs = steps->outputs;
    o.tuning = NULL;
    o.device = vv_device_is_host(o.device) ? VV_DEVICE_CPU : o.device;
    o.profile = o.observe = false;
    int code = o.device == VV_DEVICE_CPU ? open_team(steps, &o, error) : VV_OK;
    code =
        code == VV_OK ? vv_session_new(file, family, geometry, &o, &steps->session, error) : code;
    if (code != VV_OK) {
        return code;
    }
    steps->trunk = vv_session_program(steps->session, 0);
    steps->features = vv_program_device(steps->trunk)->features;
    return list_groups(steps, error);
}

void vv_steps_close(struct vv_steps *steps) {
    for (size_t i = 0; i < steps->count; i++) {
        free(steps->groups[i].args);
    }
    free(steps->groups);
    vv_session_free(steps->session);
    vv_team_free(steps->team);
    vv_placement_free(&steps->placement);
}

/* ---- measuring ---- */

int vv_steps_fill(struct vv_steps *steps, uint32_t rows, uint64_t seed, struct vv_error *error) {
    struct vv_row *list = calloc(rows, sizeof *list);
    if (!list) {
        return vv_fail_memory(error, rows * sizeof *list, "a window");
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t drawn = vv_random_at(seed, (uint64_t)rows << 32 | i);
        list[i] = (struct vv_row){0, (int32_t)vv_high_product(drawn, steps->vocabulary),
                                  rows <= steps->outputs || i + 1 == rows};
    }
    vv_session_clear(steps->session, 0);
    int code = vv_session_run(steps->session, list, rows, VV_ADVANCE, error);
    free(list);
    return code;
}

struct work {
    const struct vv_step_group *group;
    const struct vv_variant *variant;
    size_t calls;
};

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

double vv_steps_seconds(struct vv_steps *steps, const struct vv_step_group *group,
                        const struct vv_variant *variant, size_t calls) {
    if (!steps->team) {
        struct vv_error ignored;
        double seconds = 0;
        vv_program_time(steps->trunk, variant, group->args, group->count, calls, &seconds,
                        steps->failure.code == VV_OK ? &steps->failure : &ignored);
        return seconds;
    }
    struct work w = {group, variant, calls};
    double began = vv_seconds();
    vv_team_run(steps->team, run_calls, &w);
    return (vv_seconds() - began) / (double)calls;
}
