/* What drafts gain. */
#include "tune/bench_draft.h"
#include "api/internal.h"

enum { MOST_DEFAULT = 8 };

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    const struct varve_bench_draft_options *o = context;
    return !o->progress || o->progress(o->context, what, done, total);
}

static void on_result(void *context, const struct vv_bench_draft_result *from) {
    static const char *const names[VV_WAYS] = {
        [VV_WAY_PLAIN] = "plain",   [VV_WAY_MTP_1] = "mtp 1", [VV_WAY_MTP_2] = "mtp 2",
        [VV_WAY_MTP_3] = "mtp 3",   [VV_WAY_MTP_4] = "mtp 4", [VV_WAY_ADAPTIVE] = "adaptive",
        [VV_WAY_SUFFIX] = "suffix", [VV_WAY_BOTH] = "both",
    };
    const struct varve_bench_draft_options *o = context;
    const struct varve_bench_draft_result result = {from->accept, names[from->way],    from->rate,
                                                    from->rounds, from->window_tokens, from->model,
                                                    from->drafts};
    o->result(o->context, &result);
}

int varve_bench_draft(const struct varve_model *model, const struct varve_session_options *session,
                      const struct varve_bench_draft_options *options, struct varve_error *error) {
    struct vv_session_options s;
    const struct vv_bench_draft_options o = {
        .accept = options->accept,
        .accept_count = options->accept_count,
        .depth = options->depth,
        .tokens = options->tokens,
        .most = options->most ? options->most : MOST_DEFAULT,
        .rounds = options->rounds,
        .seed = options->seed,
        .progress = on_progress,
        .result = on_result,
        .context = (void *)(uintptr_t)options,
    };
    int code = vv_translate_options(model, session, &s, vv_internal(error));
    return code == VV_OK ? vv_bench_draft(model->file->gguf, model->family, model->geometry, &s, &o,
                                          vv_internal(error))
                         : code;
}
