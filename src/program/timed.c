/* How long a variant takes on a device that launches kernels, and a program anywhere. */
#include "base/clock.h"
#include "device/launch.h"
#include "program/internal.h"

/* Queues the calls, to be recorded: starting them takes the host longer than they take the device.
 */
static int record(const struct vv_program *program, const struct vv_variant *variant,
                  const void *const *args, size_t count, size_t calls,
                  const struct vv_launch *shape, void **recording, struct vv_error *error) {
    const struct vv_launcher *launcher = program->device->launcher;
    struct vv_launch launch = *shape;
    int code = launcher->begin(program->device, true, &launch, error);
    if (code != VV_OK) {
        return code;
    }
    for (size_t i = 0; i < calls && code == VV_OK; i++) {
        if (variant->launch(args[i % count], &launch) != VV_OK) {
            code = vv_fail(error, VV_ERROR_DEVICE, "the GPU refuses to run %s", variant->name);
        }
    }
    struct vv_error other;
    int ended = launcher->end(program->device, recording, code == VV_OK ? error : &other);
    return code == VV_OK ? ended : code;
}

/* Twice, the first time to warm up. What kernels find wrong with the numbers doesn't matter here.
 */
static int play(const struct vv_program *program, void *recording, double *seconds,
                struct vv_error *error) {
    struct vv_device *device = program->device;
    const struct vv_launcher *launcher = device->launcher;
    uint64_t status;
    int code = launcher->play(device, recording, error);
    code = code == VV_OK ? launcher->mark(device, 0, error) : code;
    code = code == VV_OK ? launcher->play(device, recording, error) : code;
    code = code == VV_OK ? launcher->mark(device, 1, error) : code;
    code = code == VV_OK ? launcher->wait(device, &status, error) : code;
    *seconds = code == VV_OK ? launcher->seconds(device, 0, 1) : 0;
    return code;
}

int vv_program_time(const struct vv_program *program, const struct vv_variant *variant,
                    const void *const *args, size_t count, size_t calls, double *seconds,
                    struct vv_error *error) {
    struct vv_device *device = program->device;
    struct vv_launch shape = vv_launched_shape(program);
    void *recording = NULL;
    size_t scratch = 0;
    for (size_t i = 0; i < count && variant->scratch; i++) {
        size_t bytes = variant->scratch(args[i], &shape);
        scratch = bytes > scratch ? bytes : scratch;
    }
    shape.scratch = scratch ? device->calls->allocate(device, scratch) : NULL;
    if (scratch && !shape.scratch) {
        return vv_fail_memory(error, scratch, "the scratch memory of a measurement");
    }
    int code = record(program, variant, args, count, calls, &shape, &recording, error);
    code = code == VV_OK ? play(program, recording, seconds, error) : code;
    *seconds /= (double)calls;
    if (recording) {
        device->launcher->forget(device, recording);
    }
    if (shape.scratch) {
        device->calls->release(device, shape.scratch);
    }
    return code;
}

int vv_program_seconds(struct vv_program *program, size_t runs, double *seconds,
                       struct vv_error *error) {
    double began = vv_seconds();
    int code = VV_OK;
    if (program->launched) {
        code = vv_launched_seconds(program, runs, seconds, error);
    } else {
        for (size_t i = 0; i < runs && code == VV_OK; i++) {
            code = vv_program_run(program, error);
        }
        *seconds = vv_seconds() - began;
    }
    *seconds /= (double)runs;
    return code;
}
