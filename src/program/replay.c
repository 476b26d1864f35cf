/*
 * Replay on a team of threads: every thread walks the same steps, computes its share of each one's
 * units, and waits at the barrier between phases.
 */
#include "program/internal.h"

#include <stdatomic.h>
#include <time.h>

enum { NONE = INT32_MAX };

struct replay {
    struct vv_program *program;
    /* The first step that failed, and how: (step << 8 | -code), the smallest wins, so that the same
     * trouble is told whatever the threads. */
    _Atomic int64_t failed;
    /* The phase in which a step failed; a thread stops when it comes to a later one, and all
     * threads come to the same phases. */
    _Atomic int32_t failed_phase;
};

static void note_failure(struct replay *r, size_t index, uint32_t phase, int code) {
    int64_t mine = (int64_t)index << 8 | -code, least = atomic_load(&r->failed);
    while (mine < least && !atomic_compare_exchange_weak(&r->failed, &least, mine)) {
    }
    atomic_store(&r->failed_phase, (int32_t)phase);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* This thread's share of a step. Shares are turned by the step's number, so that steps of one unit
 * fall to different threads. */
static void run_step(struct replay *r, size_t index, unsigned thread, unsigned threads) {
    struct vv_step *s = &r->program->steps[index];
    size_t units = s->operation->units(s->args), share = (thread + index) % threads;
    size_t begin = units * share / threads, end = units * (share + 1) / threads;
    if (begin < end) {
        int code = s->variant->run(s->args, begin, end);
        if (code != VV_OK) {
            note_failure(r, index, s->phase, code);
        }
    }
}

static void body(void *context, struct vv_team *team, unsigned thread) {
    struct replay *r = context;
    struct vv_program *p = r->program;
    unsigned threads = vv_team_threads(team);
    bool timed = p->profile && thread == 0;
    double at = timed ? now() : 0;
    for (size_t i = 0; i < p->count; i++) {
        if (i > 0 && p->steps[i].phase != p->steps[i - 1].phase) {
            vv_team_barrier(team);
            if (timed) {
                double after = now();
                p->waited += after - at;
                at = after;
            }
            if (atomic_load(&r->failed_phase) < (int32_t)p->steps[i].phase) {
                return;
            }
        }
        run_step(r, i, thread, threads);
        if (timed) {
            double after = now();
            p->steps[i].seconds += after - at;
            at = after;
        }
    }
}

static int explain(const struct vv_program *p, int64_t failed, struct vv_error *error) {
    const struct vv_step *s = &p->steps[failed >> 8];
    int code = -(int)(failed & 0xff);
    if (code == VV_ERROR_NOT_FINITE) {
        return vv_fail(
            error, code,
            "%s (%s) meets a value that is NaN, infinite or beyond 2^80: the file may be "
            "damaged, which \"varve inspect --verify\" would show",
            s->what, s->operation->name);
    }
    return vv_fail(error, code,
                   "%s (%s) meets an index beyond its table: the file's data and its "
                   "metadata do not belong together",
                   s->what, s->operation->name);
}

int vv_program_run(struct vv_program *program, struct vv_error *error) {
    struct replay r = {.program = program};
    atomic_init(&r.failed, INT64_MAX);
    atomic_init(&r.failed_phase, NONE);
    program->device->calls->run(program->device, body, &r);
    int64_t failed = atomic_load(&r.failed);
    return failed == INT64_MAX ? VV_OK : explain(program, failed, error);
}
