/*
 * Replay on a team of threads: every thread walks the same steps, computes its share of each one's
 * units, and waits at the barrier between phases. Small phases are left to the thread that comes to
 * the barrier last, which is sooner done with them than the team would have met once more.
 */
#include "program/internal.h"

enum { NONE = INT32_MAX };

struct replay {
    struct vv_program *program;
    /* The first step that failed, and how: (step << 8 | -code), the smallest wins, so that the same
     * trouble is told whatever the threads. */
    _Atomic int64_t failed;
    /* The phase in which a step failed; a thread stops when it comes to a later one, and all
     * threads come to the same phases. */
    _Atomic int32_t failed_phase;
    int64_t left; /* profile: when the last thread opened the barrier */
};

/* A thread on its way. */
struct member {
    struct replay *replay;
    unsigned thread;
    size_t phase, next; /* of those between, one thread does all */
    int64_t at;         /* profile: its time so far is accounted for until then */
};

static void note_failure(struct replay *r, size_t index, uint32_t phase, int code) {
    int64_t mine = (int64_t)index << 8 | -code, least = atomic_load(&r->failed);
    while (mine < least && !atomic_compare_exchange_weak(&r->failed, &least, mine)) {
    }
    atomic_store(&r->failed_phase, (int32_t)phase);
}

static void run_units(struct replay *r, size_t index, size_t begin, size_t end) {
    struct vv_step *s = &r->program->steps[index];
    if (begin < end) {
        int code = s->variant->run(s->args, begin, end);
        if (code != VV_OK) {
            note_failure(r, index, s->phase, code);
        }
    }
}

/*
 * A thread's part of a step's units. Five eighths are dealt out, in shares by the speed of cores;
 * the rest goes in small pieces to whoever is done first: threads are never as fast as one thinks,
 * and at a barrier all wait for the slowest.
 */
static void run_step(struct replay *r, size_t index, struct vv_share share, unsigned threads) {
    struct vv_step *s = &r->program->steps[index];
    size_t units = s->operation->units(s->args),
           grain = s->operation->grain ? s->operation->grain : 1;
    size_t grains = (units + grain - 1) / grain;
    size_t pool = threads > 1 && grains >= 4 * (size_t)threads ? grains / 8 * 3 : 0;
    size_t dealt = grains - pool;
    size_t begin = dealt * share.before / share.all * grain;
    size_t end = dealt * (share.before + share.own) / share.all * grain;
    run_units(r, index, begin, end < units ? end : units);
    size_t piece = pool * share.own / (4 * (size_t)share.all) + 1;
    while (pool > 0) {
        size_t at =
            atomic_fetch_add_explicit(&r->program->pools[index].taken, piece, memory_order_relaxed);
        if (at >= pool) {
            return;
        }
        size_t last = at + piece < pool ? at + piece : pool;
        begin = (dealt + at) * grain;
        end = (dealt + last) * grain;
        run_units(r, index, begin, end < units ? end : units);
    }
}

static void timed_step(struct replay *r, struct member *m, size_t index, struct vv_share share,
                       unsigned threads) {
    run_step(r, index, share, threads);
    if (r->program->profile) {
        m->at = vv_profile_step(r->program, m->thread, index, m->at);
    }
}

static void run_phase(struct replay *r, struct member *m, const struct vv_phase *phase,
                      const struct vv_team *team) {
    for (size_t i = phase->begin; i < phase->end; i++) {
        timed_step(r, m, i, vv_team_share(team, m->thread, i), vv_team_threads(team));
    }
}

static bool failed_before(struct replay *r, size_t phase) {
    return atomic_load(&r->failed_phase) < (int32_t)phase;
}

/* The last thread at a barrier runs the phases that are left to one. */
static void run_alone(void *context) {
    struct member *m = context;
    struct replay *r = m->replay;
    for (size_t k = m->phase; k < m->next && !failed_before(r, k); k++) {
        const struct vv_phase *phase = &r->program->phases[k];
        for (size_t i = phase->begin; i < phase->end; i++) {
            timed_step(r, m, i, (struct vv_share){0, 1, 1}, 1);
        }
    }
    r->left = m->at;
}

/* What is written down of a run ends for all threads when the last one is done. */
static void stamp(void *context) {
    struct replay *r = context;
    r->left = vv_nanoseconds();
}

static void end_profile(struct replay *r, struct vv_team *team, const struct member *m) {
    vv_team_meet(team, stamp, r);
    vv_profile_idle(r->program, m->thread, m->at, r->left);
    if (m->thread == 0) {
        vv_profile_end(r->program, r->left);
    }
}

static void body(void *context, struct vv_team *team, unsigned thread) {
    struct replay *r = context;
    struct vv_program *p = r->program;
    struct member m = {.replay = r, .thread = thread};
    if (p->profile) {
        m.at = vv_profile_wait(p, thread, vv_profile_start(p), vv_profile_start(p));
    }
    for (size_t k = 0; k < p->phase_count && !failed_before(r, k); k = m.next) {
        run_phase(r, &m, &p->phases[k], team);
        m.phase = m.next = k + 1;
        while (m.next < p->phase_count && p->phases[m.next].alone) {
            m.next++;
        }
        if (m.phase < p->phase_count) {
            vv_team_meet(team, run_alone, &m);
            m.at = p->profile ? vv_profile_wait(p, thread, m.at, r->left) : 0;
        }
    }
    if (p->profile) {
        end_profile(r, team, &m);
    }
}

int vv_explain(const struct vv_program *p, size_t step, int code, struct vv_error *error) {
    const struct vv_step *s = &p->steps[step];
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

void vv_select_variants(struct vv_program *program) {
    size_t row_class = vv_row_class((size_t)program->window->rows);
    for (size_t i = 0; i < program->count; i++) {
        program->steps[i].variant = program->steps[i].by_rows[row_class];
    }
}

uint64_t vv_program_prepared(const struct vv_program *program) {
    return program->prepared;
}

int vv_program_run(struct vv_program *program, struct vv_error *error) {
    struct replay r = {.program = program};
    if (program->launched) {
        return vv_launched_run(program, error);
    }
    atomic_init(&r.failed, INT64_MAX);
    atomic_init(&r.failed_phase, NONE);
    if (program->window->rows != program->planned_rows ||
        program->window->outputs != program->planned_outputs) {
        vv_plan_alone(program);
        vv_select_variants(program);
    }
    for (size_t i = 0; i < program->count; i++) {
        atomic_store_explicit(&program->pools[i].taken, 0, memory_order_relaxed);
    }
    if (program->profile) {
        vv_profile_begin(program);
    }
    program->device->calls->run(program->device, body, &r);
    int64_t failed = atomic_load(&r.failed);
    if (failed != INT64_MAX) {
        return vv_explain(program, (size_t)(failed >> 8), -(int)(failed & 0xff), error);
    }
    if (program->result_copy) {
        program->device->calls->read(program->device, program->result_copy, program->result,
                                     (size_t)program->window->outputs * program->result_bytes);
    }
    return VV_OK;
}
