/* Speed as the context grows. */
#include "tune/sweep.h"
#include "api/internal.h"

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    const struct varve_sweep_options *o = context;
    return !o->progress || o->progress(o->context, what, done, total);
}

static void on_result(void *context, const struct vv_sweep_result *from) {
    const struct varve_sweep_options *o = context;
    const struct varve_sweep_result result = {
        .depth = from->depth,
        .read = from->read,
        .generated = from->generated,
        .a = {from->sides[0].prompt_ms, from->sides[0].generate_ms},
        .b = {from->sides[1].prompt_ms, from->sides[1].generate_ms},
        .compared = from->compared,
        .different = from->different,
    };
    o->result(o->context, &result);
}

/* The depths set the context. */
static int translate(const struct varve_model *model, const struct varve_session_options *from,
                     struct vv_session_options *to, struct vv_error *error) {
    struct varve_session_options options = *from;
    options.context = 0;
    return vv_translate_options(model, &options, to, error);
}

int varve_sweep(const struct varve_model *model, const struct varve_sweep_options *options,
                struct varve_error *error) {
    struct vv_session_options a, b;
    const struct vv_sweep_options o = {
        .sides = {&a, options->b ? &b : NULL},
        .depths = options->depths,
        .depth_count = options->depth_count,
        .generate = options->generate,
        .seed = options->seed,
        .progress = on_progress,
        .result = on_result,
        .context = (void *)(uintptr_t)options,
    };
    int code = translate(model, options->a, &a, vv_internal(error));
    if (code == VV_OK && options->b) {
        code = translate(model, options->b, &b, vv_internal(error));
    }
    return code == VV_OK
               ? vv_sweep(model->file->gguf, model->family, model->geometry, &o, vv_internal(error))
               : code;
}
