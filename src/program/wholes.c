/*
 * Which steps are launched as a whole with one that they follow. They are looked for in the order
 * of the queue; one that stays where it is, in between, must not touch what a later step of the
 * whole writes, or the other way round.
 */
#include "program/internal.h"

enum { PHASES_AHEAD = 8 };

static void append(const struct vv_step *s, size_t index, struct vv_whole *whole) {
    whole->step[whole->count] = (struct vv_launched_step){s->args, (uint32_t)index};
    whole->variant[whole->count++] = s->variant;
}

/* Whether a step may be queued before those in front of it that are neither queued nor the whole's.
 */
static bool may_be_ahead(const struct vv_program *program, const struct vv_order *order,
                         const struct vv_whole *whole, size_t first, size_t step) {
    bool may = true;
    for (size_t i = first, next = 0; i < step && may; i++) {
        if (next < whole->count && whole->step[next].step == i) {
            next++;
        } else {
            may = order->taken[i] || !vv_steps_conflict(&program->steps[i], &program->steps[step]);
        }
    }
    return may;
}

void vv_find_whole(const struct vv_program *program, size_t first, const struct vv_order *order,
                   struct vv_whole *whole) {
    const struct vv_step *s = program->steps;
    const struct vv_whole_way *way = s[first].variant->whole;
    size_t phase = s[first].phase, last = phase + PHASES_AHEAD;
    last = last < program->phase_count ? last : program->phase_count - 1;
    *whole = (struct vv_whole){.count = 0};
    append(&s[first], first, whole);
    for (size_t i = first + 1; way && i < program->phases[last].end; i++) {
        if (whole->count == VV_WHOLE_STEPS) {
            return;
        }
        append(&s[i], i, whole);
        bool fits = !order->taken[i] && way->fits(whole);
        whole->count--;
        whole->count += fits && may_be_ahead(program, order, whole, first, i);
    }
}
