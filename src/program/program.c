#include "program/program.h"
#include "device/launch.h"
#include "memory/weights.h"
#include "program/internal.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of results up to which memory that is fast to copy to is worth its cost. */
enum { RESULT_LOCKED_MOST = 256 << 20 };

static size_t window_bytes(int32_t rows, int32_t outputs) {
    return sizeof(struct vv_window) + (size_t)outputs * sizeof(struct vv_draw) +
           (7 * (size_t)rows + 1 + (size_t)outputs) * sizeof(int32_t);
}

size_t vv_window_bytes(const struct vv_program *program) {
    return window_bytes(program->rows, program->outputs);
}

/* One block holds the window and its arrays. */
static struct vv_window *window_new(int32_t rows, int32_t outputs) {
    size_t n = (size_t)rows;
    struct vv_window *w = calloc(1, window_bytes(rows, outputs));
    if (w) {
        w->draw = (struct vv_draw *)(void *)(w + 1);
        int32_t *at = (int32_t *)(void *)(w->draw + outputs);
        w->rows = w->sequences = rows;
        w->outputs = outputs;
        w->token = at;
        w->position = at + n;
        w->slot = at + 2 * n;
        w->before = at + 3 * n;
        w->sequence_row = at + 4 * n;
        w->source = at + 5 * n;
        w->sequence_begin = at + 6 * n;
        w->output_row = at + 7 * n + 1;
    }
    return w;
}

int vv_program_new(struct vv_device *device, int32_t rows, int32_t outputs,
                   struct vv_program **program, struct vv_error *error) {
    struct vv_program *p = calloc(1, sizeof *p);
    struct vv_window *w = window_new(rows, outputs);
    if (!p || !w) {
        free(p);
        free(w);
        return vv_fail_memory(error, sizeof *p, "a program");
    }
    p->device = device;
    p->window = w;
    p->rows = rows;
    p->outputs = outputs;
    *program = p;
    return VV_OK;
}

static void free_result(struct vv_program *program) {
    struct vv_device *device = program->device;
    if (program->result_copy && program->result_locked) {
        device->launcher->unhost(device, program->result_copy);
    } else {
        free(program->result_copy);
    }
    if (program->drawn_copy) {
        device->launcher->unhost(device, program->drawn_copy);
    }
}

void vv_program_free(struct vv_program *program) {
    if (!program) {
        return;
    }
    for (size_t i = 0; i < program->count; i++) {
        free(program->steps[i].args);
        free(program->steps[i].what);
    }
    for (size_t i = 0; program->device && i < program->memory_count; i++) {
        program->device->calls->release(program->device, program->memory[i]);
    }
    vv_launched_free(program);
    free_result(program);
    vv_profile_free(program->profile);
    free(program->steps);
    free(program->pools);
    free(program->phases);
    free(program->memory);
    free(program->window);
    free(program);
}

struct vv_window *vv_program_window(struct vv_program *program) {
    return program->window;
}

/* Doubles `*list` when it is full. */
static bool grow(void **list, size_t *room, size_t count, size_t bytes) {
    if (count < *room) {
        return true;
    }
    size_t n = *room ? *room * 2 : 64;
    void *more = realloc(*list, n * bytes);
    if (more) {
        *list = more;
        *room = n;
    }
    return more != NULL;
}

void *vv_program_memory(struct vv_program *program, size_t bytes) {
    static _Alignas(64) char none; /* stands for memory that nobody will touch */
    if (program->failure.code != VV_OK) {
        return &none;
    }
    program->memory_bytes += bytes;
    if (!program->device) {
        return &none;
    }
    void *block = NULL;
    if (grow((void **)&program->memory, &program->memory_room, program->memory_count,
             sizeof *program->memory)) {
        block = program->device->calls->allocate(program->device, bytes);
    }
    if (!block) {
        vv_fail_memory(&program->failure, bytes, "the activations of a window");
        return &none;
    }
    program->memory[program->memory_count++] = block;
    return block;
}

size_t vv_program_memory_bytes(const struct vv_program *program) {
    return program->memory_bytes;
}

void vv_program_add(struct vv_program *program, const struct vv_operation *operation,
                    const void *args, const char *what) {
    if (program->failure.code != VV_OK || !program->device) {
        return;
    }
    struct vv_step step = {.operation = operation};
    step.args = malloc(operation->args_bytes);
    step.what = strdup(what);
    if (!step.args || !step.what ||
        !grow((void **)&program->steps, &program->room, program->count, sizeof *program->steps)) {
        free(step.args);
        free(step.what);
        vv_fail_memory(&program->failure, operation->args_bytes, "a step of the program");
        return;
    }
    memcpy(step.args, args, operation->args_bytes);
    program->steps[program->count++] = step;
}

void vv_program_fail(struct vv_program *program, int code, const char *format, ...) {
    if (program->failure.code == VV_OK) {
        va_list list;
        va_start(list, format);
        vv_fail_va(&program->failure, code, format, list);
        va_end(list);
    }
}

/* Chooses the step's variant and brings its weights into the order that the variant wants. */
static int choose(struct vv_program *program, struct vv_step *step, struct vv_weights *weights,
                  const struct vv_tuning *tuning, struct vv_error *error) {
    step->variant = vv_choose_variant(step->operation, step->args, program->device->features,
                                      program->device->packs_weights);
    if (!step->variant) {
        return vv_fail(
            error, VV_ERROR_UNSUPPORTED,
            "%s: no variant of %s takes weights in the order that another step asked for",
            step->what, step->operation->name);
    }
    for (size_t i = 0; i < VV_ROW_CLASSES; i++) {
        step->by_rows[i] = vv_tuned_variant(tuning, step->operation, step->args, step->variant,
                                            program->device->features, i);
    }
    if (!step->variant->layout) {
        return VV_OK;
    }
    struct vv_weight *list[VV_WEIGHTS_MAX];
    size_t n = step->operation->weights(step->args, list);
    for (size_t i = 0; i < n; i++) {
        int code = vv_weights_pack(weights, list[i], step->variant->layout, error);
        if (code != VV_OK) {
            return code;
        }
    }
    return VV_OK;
}

static int provide_drawn(struct vv_program *program, const struct vv_program_options *options,
                         struct vv_error *error) {
    size_t bytes = (size_t)program->outputs * sizeof *program->drawn;
    program->drawn = options->drawn;
    if (!options->drawn) {
        return VV_OK;
    }
    program->drawn_copy = program->device->launcher->host(program->device, bytes);
    return program->drawn_copy ? VV_OK : vv_fail_memory(error, bytes, "a window's tokens");
}

/* Room for the result on the host: such that copies to it are fast, if it isn't so large that
 * getting that would take longer. */
static int provide_result(struct vv_program *program, const struct vv_program_options *options,
                          struct vv_error *error) {
    struct vv_device *device = program->device;
    size_t bytes = (size_t)program->outputs * options->result_bytes;
    program->result = options->result;
    program->result_bytes = options->result_bytes;
    if (!options->result || bytes == 0 || device->shares_host_memory) {
        return VV_OK;
    }
    program->result_locked = device->launcher && bytes <= RESULT_LOCKED_MOST;
    program->result_copy =
        program->result_locked ? device->launcher->host(device, bytes) : malloc(bytes);
    return program->result_copy ? VV_OK : vv_fail_memory(error, bytes, "a window's results");
}

const void *vv_program_result(const struct vv_program *program) {
    return program->result_copy ? program->result_copy : program->result;
}

int vv_program_fetch(struct vv_program *program, struct vv_error *error) {
    return program->result_left ? vv_launched_fetch(program, error) : VV_OK;
}

const int32_t *vv_program_drawn(const struct vv_program *program) {
    return program->window->draws != VV_DRAWS_NONE ? program->drawn_copy : NULL;
}

int vv_program_finish(struct vv_program *program, const struct vv_program_options *options,
                      struct vv_weights *weights, struct vv_error *error) {
    if (program->failure.code != VV_OK) {
        *error = program->failure;
        return error->code;
    }
    for (size_t i = 0; i < program->count; i++) {
        int code = choose(program, &program->steps[i], weights, options->tuning, error);
        if (code != VV_OK) {
            return code;
        }
    }
    program->all_barriers = options->all_barriers;
    int code = vv_plan_phases(program, error);
    if (code == VV_OK) {
        size_t bytes = (program->count + 1) * sizeof *program->pools;
        program->pools = aligned_alloc(_Alignof(struct vv_pool), bytes);
        if (!program->pools) {
            return vv_fail_memory(error, bytes, "a program's pools");
        }
        memset(program->pools, 0, bytes);
    }
    if (code == VV_OK && program->device->launcher) {
        code = vv_launched_new(program, options, error);
    }
    if (code == VV_OK) {
        code = provide_result(program, options, error);
    }
    if (code == VV_OK) {
        code = provide_drawn(program, options, error);
    }
    if (code == VV_OK && options->profile) {
        code = vv_profile_new(program, options->events, error);
    }
    return code;
}

size_t vv_program_steps(const struct vv_program *program) {
    return program->count;
}

void vv_program_call(const struct vv_program *program, size_t index, struct vv_program_call *call) {
    const struct vv_step *s = &program->steps[index];
    *call = (struct vv_program_call){s->operation, s->by_rows[VV_ROW_CLASSES - 1], s->args};
}

const struct vv_device *vv_program_device(const struct vv_program *program) {
    return program->device;
}

uint64_t vv_program_bytes(const struct vv_program *program) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < program->count; i++) {
        bytes += vv_step_bytes(program, &program->steps[i]);
    }
    return bytes;
}
