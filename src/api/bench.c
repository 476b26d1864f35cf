/* Measurements. */
#include "api/internal.h"
#include "device/launch.h"
#include "registry/operation.h"
#include "tune/bench_model.h"
#include "tune/bench_operation.h"
#include "tune/ceilings.h"
#include "tune/series.h"

struct varve_series varve_series_of(const double *samples, size_t count) {
    struct vv_series s = vv_series_of(samples, count);
    return (struct varve_series){s.least, s.low, s.median, s.high, s.most};
}

int varve_measure_ceilings(const struct varve_session_options *session,
                           struct varve_ceilings *ceilings, struct varve_error *error) {
    struct vv_cpu_options options = {session->threads, UINT32_MAX, (enum vv_numa)session->numa};
    struct vv_ceilings c;
    struct vv_device *device = NULL;
    int code =
        session->isa ? vv_cpu_level(session->isa, &options.features, vv_internal(error)) : VV_OK;
    if (code == VV_OK && session->device >= VARVE_DEVICE_CUDA) {
        code = vv_device_open((enum vv_device_kind)session->device, &options, &device,
                              vv_internal(error));
    }
    if (code == VV_OK) {
        code = device ? vv_measure_device(device, &c, vv_internal(error))
                      : vv_measure_ceilings(&options, &c, vv_internal(error));
    }
    if (device) {
        device->calls->close(device);
    }
    if (code == VV_OK) {
        *ceilings = (struct varve_ceilings){c.read, c.copy, c.int8, c.f32, c.threads};
    }
    return code;
}

_Static_assert((int)VARVE_ROOFS == (int)VV_ROOFS, "kinds of formats");

/* The device of a session that launches kernels. */
static int open_gpu(const struct varve_session_options *session, struct vv_device **device,
                    struct vv_error *error) {
    if (session->device < VARVE_DEVICE_CUDA) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "that is measured on GPUs alone (--device cuda)");
    }
    return vv_device_open((enum vv_device_kind)session->device, NULL, device, error);
}

int varve_measure_roofs(const struct varve_session_options *session,
                        struct varve_roof roofs[VARVE_ROOFS], struct varve_error *error) {
    struct vv_device_roof found[VV_ROOFS];
    struct vv_device *device;
    int code = open_gpu(session, &device, vv_internal(error));
    if (code == VV_OK) {
        code = vv_measure_roofs(device, found, vv_internal(error));
        device->calls->close(device);
    }
    for (size_t i = 0; code == VV_OK && i < VV_ROOFS; i++) {
        roofs[i] = (struct varve_roof){vv_roof_names[i], found[i].form, found[i].rate};
    }
    return code;
}

int varve_measure_bf16(const struct varve_session_options *session, size_t inputs, size_t outputs,
                       size_t rows, double *seconds, struct varve_error *error) {
    struct vv_device *device;
    int code = open_gpu(session, &device, vv_internal(error));
    if (code == VV_OK) {
        code = device->launcher->multiply_bf16(device, inputs, outputs, rows, seconds,
                                               vv_internal(error));
        device->calls->close(device);
    }
    return code;
}

static void on_result(void *context, const struct vv_bench_result *from) {
    const struct varve_bench_options *o = context;
    const struct varve_bench_result result = {(enum varve_bench_kind)from->kind,
                                              from->n,
                                              from->depth,
                                              from->ms,
                                              from->rounds,
                                              from->bytes};
    if (o->result) {
        o->result(o->context, &result);
    }
}

static void on_measured(void *context, struct vv_session *session) {
    const struct varve_bench_options *o = context;
    const struct varve_session public = {.session = session};
    if (o->measured) {
        o->measured(o->context, &public);
    }
}

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    const struct varve_bench_options *o = context;
    return !o->progress || o->progress(o->context, what, done, total);
}

/* The options of a measurement and of its session under their inner names. */
static int translate(const struct varve_model *model, const struct varve_session_options *session,
                     const struct varve_bench_options *options, struct vv_session_options *inner,
                     struct vv_bench_options *o, struct vv_error *error) {
    struct varve_session_options open = *session;
    open.context = 0;
    *o = (struct vv_bench_options){
        .prompts = options->prompts,
        .depths = options->depths,
        .windows = options->windows,
        .batches = options->batches,
        .prompt_count = options->prompt_count,
        .depth_count = options->depth_count,
        .window_count = options->window_count,
        .batch_count = options->batch_count,
        .generate = options->generate,
        .rounds = options->rounds,
        .same_experts = options->same_experts,
        .seed = options->seed,
        .progress = on_progress,
        .result = on_result,
        .measured = on_measured,
        .context = (void *)(uintptr_t)options,
    };
    return vv_translate_options(model, &open, inner, error);
}

int varve_bench_model(const struct varve_model *model, const struct varve_session_options *session,
                      const struct varve_bench_options *options, struct varve_bench_facts *facts,
                      struct varve_error *error) {
    struct vv_session_options inner;
    struct vv_bench_options o;
    struct vv_bench_facts f;
    int code = translate(model, session, options, &inner, &o, vv_internal(error));
    if (code == VV_OK) {
        code = vv_bench_model(model->file->gguf, model->family, model->geometry, &inner, &o, &f,
                              vv_internal(error));
    }
    if (code == VV_OK) {
        *facts = (struct varve_bench_facts){
            f.load_ms, f.cold_ms, f.cold_rows,
            vv_bench_token_bytes(model->file->gguf, model->family, &model->facts)};
    }
    return code;
}

size_t varve_bench_plan(const struct varve_model *model,
                        const struct varve_session_options *session,
                        const struct varve_bench_options *options, struct varve_plan_line *lines,
                        size_t room) {
    struct vv_session_options inner;
    struct vv_bench_options o;
    struct vv_error ignored;
    return translate(model, session, options, &inner, &o, &ignored) == VV_OK &&
                   vv_bench_sizes(model->family, model->geometry, &o, &inner, &ignored) == VV_OK
               ? vv_plan_lines(model, &inner, lines, room)
               : 0;
}

static void on_line(void *context, const struct vv_bench_line *from) {
    const struct varve_bench_lines_options *o = context;
    const struct varve_bench_line line = {
        from->operation,        from->variant, from->shape,      from->rows, from->seconds,
        from->rounds,           from->bytes,   from->operations, from->int8, from->rule,
        vv_roof_of(from->type), from->inputs,  from->outputs};
    o->line(o->context, &line);
}

static bool ask_going_on(void *context) {
    const struct varve_bench_lines_options *o = context;
    return !o->going_on || o->going_on(o->context);
}

static struct vv_bench_lines_options inner_lines(const struct varve_bench_lines_options *options,
                                                 uint32_t features) {
    return (struct vv_bench_lines_options){
        .names = options->names,
        .name_count = options->name_count,
        .variant = options->variant,
        .shape = options->shape,
        .rows = options->rows,
        .row_count = options->row_count,
        .rounds = options->rounds,
        .threads = options->threads,
        .numa = (enum vv_numa)options->numa,
        .device = (enum vv_device_kind)options->device,
        .features = features,
        .seed = options->seed,
        .going_on = ask_going_on,
        .line = on_line,
        .context = (void *)(uintptr_t)options,
    };
}

static int bench_folders(const struct varve_bench_lines_options *options, bool layers,
                         struct varve_error *error) {
    uint32_t features = UINT32_MAX;
    int code = options->isa ? vv_cpu_level(options->isa, &features, vv_internal(error)) : VV_OK;
    struct vv_bench_lines_options o = inner_lines(options, features);
    o.layers = layers;
    return code == VV_OK ? vv_bench_operations(&o, vv_internal(error)) : code;
}

int varve_bench_operations(const struct varve_bench_lines_options *options,
                           struct varve_error *error) {
    return bench_folders(options, false, error);
}

int varve_bench_layers(const struct varve_bench_lines_options *options, struct varve_error *error) {
    return bench_folders(options, true, error);
}

int varve_bench_steps(const struct varve_model *model,
                      const struct varve_bench_lines_options *options, struct varve_error *error) {
    const struct varve_session_options session = {.threads = options->threads,
                                                  .numa = options->numa,
                                                  .device = options->device,
                                                  .isa = options->isa};
    struct vv_session_options inner;
    int code = vv_translate_options(model, &session, &inner, vv_internal(error));
    if (code != VV_OK) {
        return code;
    }
    const struct vv_bench_lines_options o = inner_lines(options, inner.features);
    return vv_bench_steps(model->file->gguf, model->family, model->geometry, &inner, &o,
                          vv_internal(error));
}
