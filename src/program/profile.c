/*
 * Where the time of every thread goes. Each thread keeps its own sums, so nothing is shared while a
 * program runs; the bytes of a step are counted between runs.
 */
#include "program/internal.h"

#include <stdlib.h>
#include <time.h>

/* A thread's sums, in nanoseconds, and its latest events. */
struct thread {
    int64_t *step; /* [steps] */
    int64_t barrier, idle;
    uint64_t looks;                  /* at the clock */
    struct vv_program_event *events; /* [room], the next one at count mod room */
    size_t count;
};

struct vv_profile {
    unsigned threads;
    struct thread *thread; /* [threads] */
    uint64_t *bytes;       /* [steps], of all runs */
    uint64_t runs, rows;
    size_t steps, room;
    int64_t begun, wall;
    double look; /* seconds that one takes */
};

int64_t vv_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Seconds that a look at the clock takes: the least mean of some, since others may run between. */
static double look_seconds(void) {
    enum { TIMES = 8, LOOKS = 256 };
    int64_t least = INT64_MAX;
    for (int i = 0; i < TIMES; i++) {
        int64_t begin = vv_nanoseconds(), end = begin;
        for (int k = 0; k < LOOKS; k++) {
            end = vv_nanoseconds();
        }
        least = end - begin < least ? end - begin : least;
    }
    return (double)least / LOOKS * 1e-9;
}

void vv_profile_free(struct vv_profile *profile) {
    for (unsigned t = 0; profile && profile->thread && t < profile->threads; t++) {
        free(profile->thread[t].step);
        free(profile->thread[t].events);
    }
    if (profile) {
        free(profile->thread);
        free(profile->bytes);
    }
    free(profile);
}

int vv_profile_new(struct vv_program *program, size_t events, struct vv_error *error) {
    struct vv_profile *p = calloc(1, sizeof *p);
    size_t n = program->count + 1;
    bool memory = p != NULL;
    if (memory) {
        program->profile = p;
        p->threads = program->device->threads;
        p->steps = program->count;
        p->room = events;
        p->look = look_seconds();
        p->bytes = calloc(n, sizeof *p->bytes);
        p->thread = calloc(p->threads, sizeof *p->thread);
        memory = p->bytes && p->thread;
    }
    for (unsigned t = 0; memory && t < p->threads; t++) {
        /* A line of its own at either end. */
        p->thread[t].step = calloc(n + 16, sizeof *p->thread[t].step);
        p->thread[t].events = events ? calloc(events, sizeof *p->thread[t].events) : NULL;
        memory = p->thread[t].step && (events == 0 || p->thread[t].events);
    }
    return memory ? VV_OK : vv_fail_memory(error, n * sizeof(int64_t), "a profile");
}

void vv_profile_begin(struct vv_program *program) {
    struct vv_profile *p = program->profile;
    p->runs++;
    p->rows += (uint64_t)program->window->rows;
    p->begun = vv_nanoseconds();
}

/* Bytes are counted when it is known which experts were active. */
void vv_profile_end(struct vv_program *program, int64_t end) {
    struct vv_profile *p = program->profile;
    p->wall += end - p->begun;
    for (size_t i = 0; i < program->count; i++) {
        p->bytes[i] += vv_step_bytes(program, &program->steps[i]);
    }
}

static void note(struct vv_profile *p, struct thread *t, size_t step, int64_t begin, int64_t end) {
    t->looks++;
    if (p->room > 0) {
        t->events[t->count++ % p->room] = (struct vv_program_event){step, begin, end};
    }
}

int64_t vv_profile_step(struct vv_program *program, unsigned thread, size_t step, int64_t from) {
    struct thread *t = &program->profile->thread[thread];
    int64_t now = vv_nanoseconds();
    t->step[step] += now - from;
    note(program->profile, t, step, from, now);
    return now;
}

void vv_profile_add(struct vv_program *program, size_t step, int64_t nanoseconds) {
    program->profile->thread[0].step[step] += nanoseconds;
}

int64_t vv_profile_wait(struct vv_program *program, unsigned thread, int64_t from, int64_t left) {
    struct thread *t = &program->profile->thread[thread];
    int64_t now = vv_nanoseconds();
    t->idle += left - from;
    t->barrier += now - left;
    note(program->profile, t, VV_EVENT_WAIT, from, now);
    return now;
}

void vv_profile_idle(struct vv_program *program, unsigned thread, int64_t from, int64_t end) {
    struct thread *t = &program->profile->thread[thread];
    t->idle += end - from;
    note(program->profile, t, VV_EVENT_WAIT, from, end);
}

int64_t vv_profile_start(const struct vv_program *program) {
    return program->profile->begun;
}

/* ---- what is shown ---- */

void vv_program_totals(const struct vv_program *program, struct vv_program_totals *totals) {
    const struct vv_profile *p = program->profile;
    *totals = (struct vv_program_totals){0};
    if (!p) {
        return;
    }
    totals->threads = p->threads;
    totals->runs = p->runs;
    totals->rows = p->rows;
    totals->wall = (double)p->wall * 1e-9;
    for (unsigned t = 0; t < p->threads; t++) {
        totals->barrier += (double)p->thread[t].barrier * 1e-9 / p->threads;
        totals->idle += (double)p->thread[t].idle * 1e-9 / p->threads;
        totals->looking += (double)p->thread[t].looks * p->look / p->threads;
    }
}

/* The i-th barrier's hazard is that of the first step behind it. */
void vv_program_step(const struct vv_program *program, size_t index, struct vv_program_step *step) {
    const struct vv_step *s = &program->steps[index];
    const struct vv_phase *phase = &program->phases[s->phase];
    const struct vv_profile *p = program->profile;
    *step = (struct vv_program_step){
        .what = s->what,
        .class = s->operation->name,
        .variant = s->variant ? s->variant->name : "",
        .first = index == phase->begin,
        .alone = phase->alone && s->phase > 0,
        .barrier = index == phase->begin && s->phase > 0 &&
                   !(program->phases[s->phase - 1].alone && s->phase > 1),
        .after = s->hazard.earlier ? s->hazard.earlier->what : NULL,
        .after_class = s->hazard.earlier ? s->hazard.earlier->operation->name : NULL,
        .hazard_bytes = s->hazard.bytes,
        .reads = s->hazard.earlier_writes && !s->hazard.later_writes,
        .writes = !s->hazard.earlier_writes,
    };
    for (unsigned t = 0; p && t < p->threads; t++) {
        step->seconds += (double)p->thread[t].step[index] * 1e-9 / p->threads;
    }
    step->bytes = p ? p->bytes[index] : 0;
}

size_t vv_program_events(const struct vv_program *program, unsigned thread,
                         const struct vv_program_event **events, size_t *first) {
    const struct vv_profile *p = program->profile;
    if (!p || thread >= p->threads) {
        return 0;
    }
    const struct thread *t = &p->thread[thread];
    *events = t->events;
    *first = t->count > p->room ? t->count % p->room : 0;
    return t->count < p->room ? t->count : p->room;
}
