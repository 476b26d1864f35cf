/*
 * Where barriers are needed. Within a phase threads run ahead of each other, so no step of a phase
 * may touch what another one of it writes. Buffers are compared as stretches of addresses at the
 * largest window; weights never change, so they take no part.
 */
#include "program/internal.h"

static bool overlap(const struct vv_buffer *a, const struct vv_buffer *b) {
    uintptr_t a0 = (uintptr_t)a->at, b0 = (uintptr_t)b->at;
    return a->bytes > 0 && b->bytes > 0 && a0 < b0 + b->bytes && b0 < a0 + a->bytes;
}

static bool conflict(const struct vv_step *a, const struct vv_step *b) {
    struct vv_buffer x[VV_BUFFERS_MAX], y[VV_BUFFERS_MAX];
    size_t n = a->operation->buffers(a->args, x), m = b->operation->buffers(b->args, y);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            if ((x[i].written || y[j].written) && overlap(&x[i], &y[j])) {
                return true;
            }
        }
    }
    return false;
}

void vv_plan_phases(struct vv_program *program, bool all_barriers) {
    size_t first = 0; /* step of the current phase */
    uint32_t phase = 0;
    for (size_t i = 0; i < program->count; i++) {
        bool hazard = all_barriers && i > first;
        for (size_t j = first; j < i && !hazard; j++) {
            hazard = conflict(&program->steps[j], &program->steps[i]);
        }
        if (hazard) {
            phase++;
            first = i;
        }
        program->steps[i].phase = phase;
    }
}
