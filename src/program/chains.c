/*
 * Which short steps are launched together. Those that wait are taken in order: each begins a chain,
 * or goes behind the one chain that has steps it must follow, if that can be told part by part. All
 * others wait on, and those that must follow them do, too.
 */
#include "program/internal.h"

#include <string.h>

static void append(const struct vv_step *s, size_t index, struct vv_chain *chain) {
    chain->step[chain->count] = (struct vv_launched_step){s->args, (uint32_t)index};
    chain->variant[chain->count++] = s->variant;
}

bool vv_may_wait(const struct vv_step *step, size_t index) {
    struct vv_chain alone = {.count = 0};
    append(step, index, &alone);
    return step->variant->chaining && step->variant->chaining->fits(&alone);
}

void vv_wait(struct vv_order *order, size_t step) {
    order->step[order->waiting++] = step;
    order->taken[step] = true;
}

/* Whether one of some steps touches what `step` writes, or the other way round. */
static bool conflicts(const struct vv_program *program, const size_t *steps, size_t count,
                      size_t step) {
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        found = vv_steps_conflict(&program->steps[steps[i]], &program->steps[step]);
    }
    return found;
}

bool vv_waits_for(const struct vv_program *program, const struct vv_order *order, size_t step) {
    return conflicts(program, order->step, order->waiting, step);
}

/* Whether it is rather launched as a whole with others. */
static bool begins_whole(const struct vv_program *program, size_t step,
                         const struct vv_order *order) {
    struct vv_whole whole;
    vv_find_whole(program, step, order, &whole);
    return whole.count > 1;
}

enum { PHASES_AHEAD = 5 };

void vv_look_ahead(const struct vv_program *program, size_t phase, struct vv_order *order) {
    size_t first = program->phases[phase].begin;
    for (size_t k = phase; k < phase + PHASES_AHEAD && k < program->phase_count; k++) {
        const struct vv_phase *p = &program->phases[k];
        for (size_t i = p->begin; i < p->end && order->waiting < VV_WAITING_MOST; i++) {
            bool may = !order->taken[i] && vv_may_wait(&program->steps[i], i);
            for (size_t j = first; j < p->begin && may; j++) {
                may = order->taken[j] || !vv_steps_conflict(&program->steps[j], &program->steps[i]);
            }
            if (may && !begins_whole(program, i, order)) {
                vv_wait(order, i);
            }
        }
    }
}

static bool follows(const struct vv_program *program, const struct vv_chain *chain, size_t step) {
    bool found = false;
    for (size_t i = 0; i < chain->count && !found; i++) {
        found = vv_steps_conflict(&program->steps[chain->step[i].step], &program->steps[step]);
    }
    return found;
}

/* Whether a step of the chains has the launch's scratch memory. */
static bool has_scratch(const struct vv_chain *chains, size_t count) {
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < chains[i].count; j++) {
            found = found || chains[i].variant[j]->scratch;
        }
    }
    return found;
}

/* The chain that a step may be in; NULL: none. A new one is counted. */
static struct vv_chain *place(const struct vv_program *program, size_t step,
                              struct vv_chain *chains, size_t *count) {
    const struct vv_step *s = &program->steps[step];
    struct vv_chain *behind = NULL;
    if (s->variant->scratch && has_scratch(chains, *count)) {
        return NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        if (follows(program, &chains[i], step)) {
            if (behind || chains[i].count == VV_CHAIN_STEPS) {
                return NULL;
            }
            behind = &chains[i];
        }
    }
    if (!behind && *count > 0 &&
        (*count == VV_CHAINS_MOST ||
         s->variant->chaining->launch != chains[0].variant[0]->chaining->launch)) {
        return NULL;
    }
    if (!behind) {
        chains[*count] = (struct vv_chain){.count = 0};
        append(s, step, &chains[*count]);
        return &chains[(*count)++];
    }
    append(s, step, behind);
    if (s->variant->chaining->launch != behind->variant[0]->chaining->launch ||
        !s->variant->chaining->fits(behind)) {
        behind->count--;
        return NULL;
    }
    return behind;
}

size_t vv_take_chains(const struct vv_program *program, struct vv_order *order,
                      struct vv_chain *chains) {
    size_t count = 0, taken = 0, left = 0;
    for (size_t i = 0; i < order->waiting; i++) {
        size_t step = order->step[i];
        bool may = taken < VV_CHAINED_MOST && !conflicts(program, order->step, left, step);
        if (may && place(program, step, chains, &count)) {
            taken++;
        } else {
            order->step[left++] = step;
        }
    }
    order->waiting = left;
    return count;
}
