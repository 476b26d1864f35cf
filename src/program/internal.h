/* A program's inside, for src/program alone. */
#pragma once
#include "device/launch.h"
#include "program/program.h"

#include <stdatomic.h>

/* Why a step may not run beside an earlier one: the first stretch of memory that both touch. */
struct vv_hazard {
    const struct vv_step *earlier; /* NULL: the program's first phase */
    size_t bytes;
    bool earlier_writes, later_writes;
};

struct vv_step {
    const struct vv_operation *operation;
    const struct vv_variant *variant;                 /* of the window that ran last */
    const struct vv_variant *by_rows[VV_ROW_CLASSES]; /* for windows of each class */
    void *args;
    char *what;
    uint32_t phase;
    struct vv_hazard hazard;
};

/* What is left of a step for whoever comes first; a cache line of its own. */
struct vv_pool {
    _Alignas(64) _Atomic size_t taken;
};

/* Steps that run without a barrier between them. */
struct vv_phase {
    size_t begin, end;
    /* Left to the thread that comes last to the barrier before it, which the phase then shares with
     * the one after it. */
    bool alone;
};

struct vv_program {
    struct vv_device *device;
    struct vv_window *window;
    int32_t rows, outputs;
    struct vv_step *steps; /* once finished: phase after phase */
    size_t count, room;
    struct vv_pool *pools; /* one a step */
    struct vv_phase *phases;
    size_t phase_count;
    int32_t planned_rows, planned_outputs; /* of the window that `alone` was chosen for */
    bool all_barriers;
    void **memory; /* device blocks */
    size_t memory_count, memory_room, memory_bytes;
    struct vv_launched *launched; /* how it runs on a device that launches kernels, or NULL */
    uint64_t prepared;            /* runs that took the longer for a preparation of later ones */
    struct vv_profile *profile;   /* or NULL */
    const void *result;           /* as the options say */
    size_t result_bytes;
    void *result_copy;       /* the host's, where the device's memory is another; NULL: none */
    bool result_locked;      /* it is the launcher's memory for copies */
    bool result_left;        /* on the device, where it was not asked for */
    const int32_t *drawn;    /* as the options say */
    int32_t *drawn_copy;     /* the host's, the launcher's memory for copies; NULL: none */
    struct vv_error failure; /* of the recording; code VV_OK: none */
};

/* Sorts the steps into phases (hazards.c). With `all_barriers` every step is a phase of its own, in
 * the order recorded. */
int vv_plan_phases(struct vv_program *program, struct vv_error *error);

/* Whether one of two steps writes what the other touches. */
bool vv_steps_conflict(const struct vv_step *a, const struct vv_step *b);

/* Bytes that the run that just ended read and wrote in the step; device memory is looked at. */
size_t vv_step_bytes(const struct vv_program *program, const struct vv_step *step);

/* Chooses which phases are left to one thread when the window has as many rows as it has now. */
void vv_plan_alone(struct vv_program *program);

/* Chooses the steps' variants for windows as large as this one. */
void vv_select_variants(struct vv_program *program);

/* Fills `error` with the sentence for a step's trouble. */
int vv_explain(const struct vv_program *program, size_t step, int code, struct vv_error *error);

/* Bytes of the window's memory: the window and its arrays. */
size_t vv_window_bytes(const struct vv_program *program);

/* ---- chains.c ---- */

/* What of a queue is out of the order of its steps: short ones wait to be launched together. */
enum { VV_WAITING_MOST = 48 };
struct vv_order {
    bool *taken; /* [steps] queued, or waiting */
    size_t step[VV_WAITING_MOST];
    size_t waiting; /* how many, in the order they came */
};

/* Whether a step may wait: it can begin a chain. */
bool vv_may_wait(const struct vv_step *step, size_t index);
void vv_wait(struct vv_order *order, size_t step);

/* Lets short steps of the phases from `phase` on wait early, where nothing that isn't queued yet
 * has to come before them. */
void vv_look_ahead(const struct vv_program *program, size_t phase, struct vv_order *order);

/* Whether one of those that wait touches what `step` writes, or the other way round. */
bool vv_waits_for(const struct vv_program *program, const struct vv_order *order, size_t step);

/* Takes steps out of those that wait, as many as one launch can have, the first of all among them.
 * Returns how many chains they make. */
size_t vv_take_chains(const struct vv_program *program, struct vv_order *order,
                      struct vv_chain *chains /* [VV_CHAINS_MOST] */);

/* ---- wholes.c ---- */

/* What may be launched with the step `first`, which has a way for it. */
void vv_find_whole(const struct vv_program *program, size_t first, const struct vv_order *order,
                   struct vv_whole *whole);

/* ---- launched.c ---- */

int vv_launched_new(struct vv_program *program, const struct vv_program_options *options,
                    struct vv_error *error);
void vv_launched_free(struct vv_program *program);
int vv_launched_run(struct vv_program *program, struct vv_error *error);
/* Brings the result that the last run left on the device. */
int vv_launched_fetch(struct vv_program *program, struct vv_error *error);
/* Plays the window that was run last, several times, without a copy to or from the device; seconds
 * of all of them. */
int vv_launched_seconds(struct vv_program *program, size_t runs, double *seconds,
                        struct vv_error *error);
/* What launches for the window as it is now depend on; no queue, no scratch memory. */
struct vv_launch vv_launched_shape(const struct vv_program *program);

/* ---- profile.c ---- */

int vv_profile_new(struct vv_program *program, size_t events, struct vv_error *error);
void vv_profile_free(struct vv_profile *profile);
/* By the thread that starts a run, before it; and by one of its threads when all are done, which
 * was at `end`. */
void vv_profile_begin(struct vv_program *program);
void vv_profile_end(struct vv_program *program, int64_t end);

int64_t vv_nanoseconds(void);
/* When the present run began. */
int64_t vv_profile_start(const struct vv_program *program);
/* A thread's time since `from` went to a step; returns the time now. */
int64_t vv_profile_step(struct vv_program *program, unsigned thread, size_t step, int64_t from);
/* It went to a barrier that was opened at `left`, when the last thread had come and done what is
 * left to it alone. */
int64_t vv_profile_wait(struct vv_program *program, unsigned thread, int64_t from, int64_t left);
/* A step took `nanoseconds` on a device. */
void vv_profile_add(struct vv_program *program, size_t step, int64_t nanoseconds);
/* It waited for the others until the end of the run. */
void vv_profile_idle(struct vv_program *program, unsigned thread, int64_t from, int64_t end);
