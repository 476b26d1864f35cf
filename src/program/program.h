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

/* Activation memory on the device, zeroed, for as long as the program lives. */
void *vv_program_memory(struct vv_program *program, size_t bytes);
size_t vv_program_memory_bytes(const struct vv_program *program);

/* Appends a step. `args` (operation->args_bytes) is copied; `what` ("blk.3.attn_qkv") too. */
void vv_program_add(struct vv_program *program, const struct vv_operation *operation,
                    const void *args, const char *what);

struct vv_program_options {
    bool all_barriers; /* one after every step, for debugging: results are equal */
    bool profile;      /* time every step */
};

/* Chooses variants (packing weights where the device wants it) and places barriers. Returns the
 * first failure of the recording, if there was one. */
int vv_program_finish(struct vv_program *program, const struct vv_program_options *options,
                      struct vv_weights *weights, struct vv_error *error);

/* Runs all steps on the window. A kernel's trouble becomes a sentence that names the step. */
int vv_program_run(struct vv_program *program, struct vv_error *error);

/* What a finished program consists of, for profiles and tests. */
struct vv_program_step {
    const char *what;  /* where in the model */
    const char *class; /* the operation's name */
    const char *variant;
    bool barrier;   /* one stands before this step */
    double seconds; /* of thread 0 in all runs so far, when profiled; waits are not in it */
};
size_t vv_program_steps(const struct vv_program *program);
void vv_program_step(const struct vv_program *program, size_t index, struct vv_program_step *step);
double vv_program_waited(const struct vv_program *program); /* seconds of thread 0 at barriers */
