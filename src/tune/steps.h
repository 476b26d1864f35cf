/* The steps of a model's trunk, to be measured one by one: those of one operation and shape form a
 * group, which has a set of weights for each layer. */
#pragma once
#include "device/cpu/team.h"
#include "registry/tuning.h"
#include "session/session.h"

struct vv_step_group {
    const struct vv_operation *operation;
    const struct vv_variant *rule; /* what runs it in windows of the largest class */
    const char *what;              /* where in the model the first one stands */
    char shape[VV_SHAPE_TEXT];
    const void **args; /* [count] */
    size_t count;
};

struct vv_steps {
    struct vv_session *session;
    const struct vv_program *trunk;
    struct vv_placement placement;
    struct vv_team *team;    /* NULL: the session's device launches kernels */
    struct vv_error failure; /* the first one of a measurement there */
    uint32_t features, window, outputs;
    size_t vocabulary;
    struct vv_step_group *groups;
    size_t count;
};

/* Opens a session on the CPU, or on the device of `session` if that launches kernels, for windows
 * of up to `window` rows (or the model's context): of `session` threads, numa, features and kv_type
 * count. Close after a failure, too; start from {0}. */
int vv_steps_open(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                  const struct vv_session_options *session, uint32_t window, struct vv_steps *steps,
                  struct vv_error *error);
void vv_steps_close(struct vv_steps *steps);

/* Leaves the program's window with that many rows of random tokens, and its buffers with what they
 * compute. */
int vv_steps_fill(struct vv_steps *steps, uint32_t rows, uint64_t seed, struct vv_error *error);

/* Of a call, in the mean of `calls`: call after call the next layer's step, on all threads, as a
 * program runs them. On a device that launches kernels a refusal is kept as `failure`. */
double vv_steps_seconds(struct vv_steps *steps, const struct vv_step_group *group,
                        const struct vv_variant *variant, size_t calls);
