/*
 * Where barriers are needed. Within a phase threads run ahead of each other, so no step of a phase
 * may touch what another one of it writes. Buffers are compared as stretches of addresses at the
 * largest window; weights never change, so they take no part.
 *
 * A group is some phases of steps that are small for a window of one row, each of which may be left
 * to one thread, and then a phase of large steps. A large step comes after the large ones of the
 * group before and beside those of its own; every step is in the first group that its hazards
 * allow, so that there are as few groups, which is barriers, as the longest chain needs.
 */
#include "program/internal.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A step's buffers, and its place: in a group, small ones in ranks. */
struct touched {
    struct vv_buffer *buffers;
    size_t count;
    bool large;
    size_t group, rank; /* the rank of a large step is LARGE */
    size_t previous;    /* step of the group, or NONE */
};

struct plan {
    struct vv_program *program;
    struct touched *touched; /* [steps] */
    struct vv_buffer *buffers;
    size_t *last;  /* [groups] the group's last step */
    size_t *ranks; /* [groups] */
    size_t groups;
};

enum { LARGE = INT32_MAX };
static const size_t NONE = SIZE_MAX;

static bool overlap(const struct vv_buffer *a, const struct vv_buffer *b) {
    uintptr_t a0 = (uintptr_t)a->at, b0 = (uintptr_t)b->at;
    return a->bytes > 0 && b->bytes > 0 && a0 < b0 + b->bytes && b0 < a0 + a->bytes;
}

static bool conflict(const struct touched *a, const struct touched *b, struct vv_hazard *hazard) {
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            const struct vv_buffer *x = &a->buffers[i], *y = &b->buffers[j];
            if ((x->written || y->written) && overlap(x, y)) {
                hazard->bytes = x->bytes < y->bytes ? x->bytes : y->bytes;
                hazard->earlier_writes = x->written;
                hazard->later_writes = y->written;
                return true;
            }
        }
    }
    return false;
}

bool vv_steps_conflict(const struct vv_step *a, const struct vv_step *b) {
    struct vv_buffer of_a[VV_BUFFERS_MAX], of_b[VV_BUFFERS_MAX];
    struct touched x = {.buffers = of_a, .count = a->operation->buffers(a->args, of_a)};
    struct touched y = {.buffers = of_b, .count = b->operation->buffers(b->args, of_b)};
    struct vv_hazard hazard;
    return conflict(&x, &y, &hazard);
}

/* What `bytes` looks at is fetched where the device's memory isn't the host's. */
size_t vv_program_call_bytes(const struct vv_program *p, const struct vv_operation *operation,
                             const void *from) {
    size_t at = operation->looks_at;
    if (at == 0 || p->device->shares_host_memory) {
        return vv_operation_bytes(operation, from);
    }
    alignas(max_align_t) uint8_t args[VV_ARGS_MAX];
    int32_t seen, *there, *here = &seen;
    memcpy(args, from, operation->args_bytes);
    memcpy(&there, args + at, sizeof there);
    p->device->calls->read(p->device, &seen, there, sizeof seen);
    memcpy(args + at, &here, sizeof here);
    return vv_operation_bytes(operation, args);
}

size_t vv_step_bytes(const struct vv_program *p, const struct vv_step *s) {
    return vv_program_call_bytes(p, s->operation, s->args);
}

/* What one thread does in about the time that a team needs to meet and to share it. */
enum { SMALL_BYTES = 192 << 10 };

/* Adds the step to `bytes`. A weight is read once, but every row meets it. */
static bool small(const struct vv_program *p, const struct vv_step *s, size_t *bytes) {
    if (s->operation->varies) {
        return false;
    }
    *bytes += s->operation->bytes ? s->operation->bytes(s->args)
                                  : vv_listed_bytes(s->operation, s->args, (size_t)p->window->rows);
    return *bytes <= SMALL_BYTES;
}

/* The step's last hazard within a group: with a large step, else with the small one of the highest
 * rank. NONE: no hazard. */
static size_t last_hazard(const struct plan *plan, size_t group, size_t step,
                          struct vv_hazard *hazard) {
    size_t found = NONE;
    for (size_t j = plan->last[group]; j != NONE; j = plan->touched[j].previous) {
        struct vv_hazard h;
        if ((found == NONE || plan->touched[j].rank > plan->touched[found].rank) &&
            conflict(&plan->touched[j], &plan->touched[step], &h)) {
            found = j;
            *hazard = h;
            hazard->earlier = &plan->program->steps[j];
        }
    }
    return found;
}

/* Sets the step's group and rank. */
static void place(struct plan *plan, size_t step) {
    struct touched *t = &plan->touched[step];
    t->group = t->rank = 0;
    for (size_t group = plan->groups; group-- > 0;) {
        size_t other = last_hazard(plan, group, step, &plan->program->steps[step].hazard);
        if (other != NONE) {
            bool after = plan->touched[other].large;
            t->group = group + after;
            t->rank = after ? 0 : plan->touched[other].rank + 1;
            break;
        }
    }
    t->rank = t->large ? (size_t)LARGE : t->rank;
    if (t->group == plan->groups) {
        plan->last[plan->groups] = NONE;
        plan->ranks[plan->groups++] = 0;
    }
    if (!t->large && t->rank >= plan->ranks[t->group]) {
        plan->ranks[t->group] = t->rank + 1;
    }
    t->previous = plan->last[t->group];
    plan->last[t->group] = step;
}

/* Phases are numbered by group and rank; returns how many there are. A group without large steps
 * leaves a number out, which is an empty phase. */
static uint32_t number_phases(struct plan *plan) {
    struct vv_program *p = plan->program;
    size_t first = 0;
    for (size_t g = 0; g < plan->groups; g++) {
        size_t ranks = plan->ranks[g];
        plan->ranks[g] = first; /* the group's first phase from here on */
        first += ranks + 1;
    }
    for (size_t i = 0; i < p->count; i++) {
        const struct touched *t = &plan->touched[i];
        size_t end = t->group + 1 < plan->groups ? plan->ranks[t->group + 1] : first;
        p->steps[i].phase = (uint32_t)(t->large ? end - 1 : plan->ranks[t->group] + t->rank);
    }
    return (uint32_t)first;
}

static uint32_t place_all(struct plan *plan) {
    struct vv_program *p = plan->program;
    for (size_t i = 0; i < p->count; i++) {
        place(plan, i);
    }
    if (!p->all_barriers) {
        return number_phases(plan);
    }
    for (size_t i = 0; i < p->count; i++) {
        p->steps[i].phase = (uint32_t)i;
    }
    return (uint32_t)p->count;
}

static bool list_buffers(struct plan *plan) {
    struct vv_program *p = plan->program;
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        n += p->steps[i].operation->buffers(p->steps[i].args, NULL);
    }
    plan->buffers = malloc((n + VV_BUFFERS_MAX) * sizeof *plan->buffers);
    n = 0;
    for (size_t i = 0; plan->buffers && i < p->count; i++) {
        struct touched *t = &plan->touched[i];
        t->buffers = plan->buffers + n;
        t->count = p->steps[i].operation->buffers(p->steps[i].args, t->buffers);
        n += t->count;
    }
    return plan->buffers != NULL;
}

/* Products that are launched with others are as those are, so that they are in one launch. */
static bool launched_with_products(const struct vv_program *p, const struct vv_step *s) {
    return p->device->launcher && s->variant && s->variant->launch_all && s->operation->weights;
}

/* Whether steps are small is asked for a window of one row. */
static void find_large(struct plan *plan) {
    struct vv_program *p = plan->program;
    struct vv_window *w = p->window;
    w->rows = w->outputs = w->sequences = 1;
    for (size_t i = 0; i < p->count; i++) {
        size_t bytes = 0;
        plan->touched[i].large =
            !small(p, &p->steps[i], &bytes) || launched_with_products(p, &p->steps[i]);
    }
    w->rows = w->sequences = p->rows;
    w->outputs = p->outputs;
}

/* Steps phase after phase, in the order recorded within each; hazards name them where they are
 * then. */
static bool sort(struct vv_program *p, uint32_t phases) {
    struct vv_step *sorted = malloc((p->count + 1) * sizeof *sorted);
    size_t *where = malloc((p->count + 1) * sizeof *where);
    p->phases = calloc(phases + 1, sizeof *p->phases);
    bool memory = sorted && where && p->phases;
    for (size_t i = 0; memory && i < p->count; i++) {
        p->phases[p->steps[i].phase + 1].begin++; /* how many there are, for now */
    }
    for (uint32_t k = 0; memory && k < phases; k++) {
        p->phases[k + 1].begin += p->phases[k].begin;
        p->phases[k].end = p->phases[k].begin;
    }
    for (size_t i = 0; memory && i < p->count; i++) {
        where[i] = p->phases[p->steps[i].phase].end++;
        sorted[where[i]] = p->steps[i];
    }
    for (size_t i = 0; memory && i < p->count; i++) {
        struct vv_hazard *h = &sorted[i].hazard;
        h->earlier = h->earlier ? &sorted[where[h->earlier - p->steps]] : NULL;
    }
    free(where);
    if (!memory) {
        free(sorted);
        return false;
    }
    free(p->steps);
    p->steps = sorted;
    p->phase_count = phases;
    return true;
}

/* Empty phases go. */
static void close_up(struct vv_program *p) {
    size_t kept = 0;
    for (size_t k = 0; k < p->phase_count; k++) {
        if (p->phases[k].begin < p->phases[k].end) {
            for (size_t i = p->phases[k].begin; i < p->phases[k].end; i++) {
                p->steps[i].phase = (uint32_t)kept;
            }
            p->phases[kept++] = p->phases[k];
        }
    }
    p->phase_count = kept;
}

int vv_plan_phases(struct vv_program *p, struct vv_error *error) {
    size_t room = p->count + 1;
    struct plan plan = {.program = p,
                        .touched = calloc(room, sizeof *plan.touched),
                        .last = calloc(room, sizeof *plan.last),
                        .ranks = calloc(room, sizeof *plan.ranks)};
    bool memory = plan.touched && plan.last && plan.ranks && list_buffers(&plan);
    if (memory) {
        find_large(&plan);
        memory = sort(p, place_all(&plan));
    }
    if (memory) {
        close_up(p);
    }
    free(plan.touched);
    free(plan.last);
    free(plan.ranks);
    free(plan.buffers);
    return memory ? VV_OK : vv_fail_memory(error, p->count * sizeof *p->steps, "a program's plan");
}

void vv_plan_alone(struct vv_program *p) {
    p->planned_rows = p->window->rows;
    p->planned_outputs = p->window->outputs;
    for (size_t k = 0; k < p->phase_count; k++) {
        struct vv_phase *phase = &p->phases[k];
        size_t bytes = 0;
        phase->alone = !p->all_barriers;
        for (size_t i = phase->begin; i < phase->end && phase->alone; i++) {
            phase->alone = small(p, &p->steps[i], &bytes);
        }
    }
}
