/* A program's inside, for src/program alone. */
#pragma once
#include "program/program.h"

struct vv_step {
    const struct vv_operation *operation;
    const struct vv_variant *variant;
    void *args;
    char *what;
    uint32_t phase; /* steps of one phase run without a barrier between them */
    double seconds;
};

struct vv_program {
    struct vv_device *device;
    struct vv_window *window;
    int32_t rows, outputs;
    struct vv_step *steps;
    size_t count, room;
    void **memory; /* device blocks */
    size_t memory_count, memory_room, memory_bytes;
    bool profile;
    double waited;
    struct vv_error failure; /* of the recording; code VV_OK: none */
};

/* Numbers the phases: a step that touches what an earlier step of the phase writes, or writes what
 * one touches, begins a new one. */
void vv_plan_phases(struct vv_program *program, bool all_barriers);
