/* Tuning. */
#include "tune/tune.h"
#include "api/internal.h"

_Static_assert((int)VARVE_MACHINE_TEXT == (int)VV_MACHINE_TEXT, "a machine's text");

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    const struct varve_tune_options *o = context;
    return !o->progress || o->progress(o->context, what, done, total);
}

static void on_line(void *context, const struct vv_tune_line *from) {
    const struct varve_tune_options *o = context;
    const struct varve_tune_line line = {from->operation, from->shape,   from->rows,
                                         from->rule,      from->variant, from->rule_us,
                                         from->us,        from->p,       from->kept};
    o->line(o->context, &line);
}

int varve_tune(const struct varve_model *model, const struct varve_tune_options *options,
               struct varve_tune_threads *threads, struct varve_error *error) {
    struct varve_session_options from = *options->session;
    struct vv_session_options session;
    from.context = 0;
    from.tuning = NULL;
    const struct vv_tune_options o = {
        .session = &session,
        .rounds = options->rounds,
        .seed = options->seed,
        .progress = on_progress,
        .line = on_line,
        .context = (void *)(uintptr_t)options,
    };
    struct vv_tune_team best = {0};
    int code = vv_translate_options(model, &from, &session, vv_internal(error));
    bool host = vv_device_is_host(session.device); /* elsewhere threads do next to nothing */
    if (code == VV_OK && host && session.threads == 0 && session.numa == VV_NUMA_AUTO) {
        code = vv_tune_threads(model->file->gguf, model->family, model->geometry, &o, &best,
                               vv_internal(error));
        session.threads = best.threads;
        session.numa = best.numa;
    }
    if (code == VV_OK) {
        code = vv_tune_variants(model->file->gguf, model->family, model->geometry, &o,
                                vv_internal(error));
    }
    if (code == VV_OK) {
        *threads = (struct varve_tune_threads){best.threads, (enum varve_numa)best.numa};
    }
    return code;
}

void varve_machine(char text[VARVE_MACHINE_TEXT]) {
    vv_machine_text(text);
}
