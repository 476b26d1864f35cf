/* Two settings side by side. */
#include "tune/ab.h"
#include "api/internal.h"

#include <string.h>

_Static_assert((int)VARVE_PAIRS_MAX == (int)VV_PAIRS_MAX, "rounds of a comparison");
_Static_assert(sizeof(struct varve_ab_times) == sizeof(struct vv_ab_side), "its times");

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    const struct varve_ab_options *o = context;
    return !o->progress || o->progress(o->context, what, done, total);
}

/* The prompt sets the context. */
static int translate(const struct varve_model *model, const struct varve_session_options *from,
                     struct vv_session_options *to, struct vv_error *error) {
    struct varve_session_options options = *from;
    options.context = 0;
    return vv_translate_options(model, &options, to, error);
}

static struct vv_decoder_options drafts_of(const struct varve_decoder_options *options) {
    return options ? vv_translate_drafts(options)
                   : (struct vv_decoder_options){.draft = VV_DRAFT_OFF};
}

int varve_ab(const struct varve_model *model, const struct varve_ab_options *options,
             struct varve_ab_result *result, struct varve_error *error) {
    struct vv_session_options a, b;
    struct vv_ab_result r;
    const struct vv_ab_options o = {
        .sides = {&a, &b},
        .drafts = {drafts_of(options->a_drafts), drafts_of(options->b_drafts)},
        .prompt = options->prompt,
        .prompt_count = options->prompt_count,
        .generate = options->generate,
        .rounds = options->rounds,
        .progress = on_progress,
        .context = (void *)(uintptr_t)options,
    };
    int code = translate(model, options->a, &a, vv_internal(error));
    code = code == VV_OK ? translate(model, options->b, &b, vv_internal(error)) : code;
    if (code == VV_OK) {
        code = vv_ab(model->file->gguf, model->family, model->geometry, &o, &r, vv_internal(error));
    }
    if (code == VV_OK) {
        memcpy(&result->a, &r.sides[0], sizeof result->a);
        memcpy(&result->b, &r.sides[1], sizeof result->b);
        result->prompt_p = r.prompt_p;
        result->generate_p = r.generate_p;
        result->equal = r.equal;
        result->differs = r.differs;
    }
    return code;
}
