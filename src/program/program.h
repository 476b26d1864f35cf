/*
 * A program: the forward pass as a list of steps, recorded once for windows of up to some number of
 * rows and replayed for every window. A step is an operation, its args and where in the model it
 * stands. From the buffers that operations declare follow the barriers between steps; the variant
 * of each step is chosen when the program is finished.
 *
 * Recording never fails halfway: the first failure is kept, later calls do nothing, and
 * vv_program_finish returns it. So a model file states its steps without a test after each.
 */
#pragma once
#include "device/device.h"
#include "registry/operation.h"
#include "registry/tuning.h"
#include "registry/window.h"

struct vv_program;
struct vv_weights;

/* A program for windows of up to `rows` rows of which `outputs` want logits. With `device` NULL
 * memory is only counted, nothing can be finished. */
int vv_program_new(struct vv_device *device, int32_t rows, int32_t outputs,
                   struct vv_program **program, struct vv_error *error);
void vv_program_free(struct vv_program *program);

/* The window that steps read their rows from: the caller fills it before each run. Its counts are
 * set to the largest ones until the program is finished. */
struct vv_window *vv_program_window(struct vv_program *program);

/* Activation memory on the device, zeroed, for as long as the program lives. Never NULL: after a
 * failure, and where memory is only counted, an address that is not to be followed. */
void *vv_program_memory(struct vv_program *program, size_t bytes);
size_t vv_program_memory_bytes(const struct vv_program *program);

/* Appends a step. `args` (operation->args_bytes) is copied; `what` ("blk.3.attn_qkv") too. */
void vv_program_add(struct vv_program *program, const struct vv_operation *operation,
                    const void *args, const char *what);

/* Keeps a failure of whoever records as the program's first one. */
void vv_program_fail(struct vv_program *program, int code, const char *format, ...) VV_PRINTF(3, 4);

struct vv_program_options {
    bool all_barriers;               /* one after every step, for debugging: results are equal */
    bool profile;                    /* time every step */
    bool no_recordings;              /* steps are queued one by one on a device that launches */
    const struct vv_program *beside; /* whose window steps look at too, or NULL */
    size_t events;                   /* of each thread that a profile keeps, the latest ones */
    const struct vv_tuning *tuning;  /* or NULL: the registry's rule alone */
    const void *result;              /* what a run leaves of each output row, in device memory */
    size_t result_bytes;             /* of a row; 0: nobody asks for it */
    const int32_t *drawn; /* the tokens of its draws, in memory of a device that launches; or NULL:
                           * it makes none */
};

/* Chooses variants (packing weights where the device wants it) and places barriers. Returns the
 * first failure of the recording, if there was one. */
int vv_program_finish(struct vv_program *program, const struct vv_program_options *options,
                      struct vv_weights *weights, struct vv_error *error);

/* Runs all steps on the window. A kernel's trouble becomes a sentence that names the step. */
int vv_program_run(struct vv_program *program, struct vv_error *error);

/* How many runs so far took the longer for being of a new kind: a device that launches kernels
 * queues the first window of some counts step by step, and records the second. */
uint64_t vv_program_prepared(const struct vv_program *program);

/* The last run's result, [outputs] rows, where the host can read it: after a window whose outputs
 * are all drawn once it was fetched, which needs another wait for the device. */
const void *vv_program_result(const struct vv_program *program);
int vv_program_fetch(struct vv_program *program, struct vv_error *error);

/* The tokens of the last run's draws, [outputs]; NULL: it made none. */
const int32_t *vv_program_drawn(const struct vv_program *program);

/* A step of a finished program, for profiles and tests; they stand in the order of their phases. Of
 * a hazard: the later step touches what the step `after` touches, one of the two writes it. */
struct vv_program_step {
    const char *what;  /* where in the model */
    const char *class; /* the operation's name */
    const char *variant;
    bool first;   /* of its phase */
    bool alone;   /* its phase is left to the thread that comes last to the barrier before it, with
                   * as many rows as the last window had */
    bool barrier; /* all threads meet before this step */
    const char *after, *after_class; /* the hazard's earlier step; NULL: none */
    size_t hazard_bytes;             /* of the buffer that both touch */
    bool reads, writes; /* this step reads what the earlier one writes; writes what it reads;
                         * neither: both write */
    double seconds;     /* in all runs so far, when profiled: the mean of all threads */
    uint64_t bytes;     /* read and written meanwhile */
};
size_t vv_program_steps(const struct vv_program *program);
void vv_program_step(const struct vv_program *program, size_t index, struct vv_program_step *step);

/* Bytes that all steps read and write for the window as it is now. Which experts were active is
 * taken from the last layer that ran, for all of them. */
uint64_t vv_program_bytes(const struct vv_program *program);

/* What a step of a finished program calls, for measurements of it alone. */
struct vv_program_call {
    const struct vv_operation *operation;
    const struct vv_variant *rule; /* what runs it in windows of the largest class */
    const void *args;
};
void vv_program_call(const struct vv_program *program, size_t index, struct vv_program_call *call);

/* Bytes that such a call read and wrote in the last run; device memory is looked at. */
size_t vv_program_call_bytes(const struct vv_program *program, const struct vv_operation *operation,
                             const void *args);

/* On a device that launches kernels: seconds of a call of `variant`, in the mean of `calls`, one
 * behind the other with each of the steps' `args` in turn, for the window that ran last. */
int vv_program_time(const struct vv_program *program, const struct vv_variant *variant,
                    const void *const *args /* [count] */, size_t count, size_t calls,
                    double *seconds, struct vv_error *error);
/* Seconds of a run of a program that ran before, in the mean of `runs` on the same window; of a
 * device that launches kernels by its own clock, what the host does to begin them aside. */
int vv_program_seconds(struct vv_program *program, size_t runs, double *seconds,
                       struct vv_error *error);
/* Whether a program launches steps of this variant together with others of such windows, so that
 * its own time says little. */
bool vv_program_joins(const struct vv_variant *variant, uint32_t rows);
const struct vv_device *vv_program_device(const struct vv_program *program);

/* All runs so far, when profiled; times are seconds, those at barriers the mean of all threads. */
struct vv_program_totals {
    unsigned threads;
    uint64_t runs, rows;
    double wall;
    double barrier; /* from its opening until a thread goes on */
    double idle;    /* waiting for others to come, or for one that works alone */
    double looking; /* at the clock, which is part of the times of steps and barriers */
};
void vv_program_totals(const struct vv_program *program, struct vv_program_totals *totals);

/* What a thread did and when, in nanoseconds of the monotonic clock. */
enum { VV_EVENT_WAIT = INT32_MAX };
struct vv_program_event {
    size_t step; /* or VV_EVENT_WAIT */
    int64_t begin, end;
};
/* The latest events of a thread: `events` is a ring that begins at `first`. Returns their number.
 */
size_t vv_program_events(const struct vv_program *program, unsigned thread,
                         const struct vv_program_event **events, size_t *first);
