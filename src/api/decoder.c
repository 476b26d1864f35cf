/* Writing with drafts. */
#include "api/internal.h"

#include <string.h>

enum { MOST_DEFAULT = 8 };

/* Public forms are the internal ones under other names. */
_Static_assert(sizeof(struct varve_decoder_report) == sizeof(struct vv_decoder_report) &&
                   sizeof(struct varve_draft_count) == sizeof(struct vv_draft_count) &&
                   (int)VARVE_DRAFT_BOTH == (int)VV_DRAFT_BOTH &&
                   (int)VARVE_DRAFTS_MAX == (int)VV_DRAFTS_MAX,
               "two forms of one decoder");

static struct vv_decoder *inner(struct varve_decoder *decoder) {
    return (struct vv_decoder *)decoder;
}

struct vv_decoder_options vv_translate_drafts(const struct varve_decoder_options *options) {
    return (struct vv_decoder_options){.slot = options->slot,
                                       .draft = (enum vv_draft)options->draft,
                                       .most = options->most ? options->most : MOST_DEFAULT,
                                       .fixed = options->fixed};
}

int varve_decoder_open(struct varve_session *session, const struct varve_decoder_options *options,
                       struct varve_decoder **decoder, struct varve_error *error) {
    struct vv_decoder *made;
    const struct vv_decoder_options o = vv_translate_drafts(options);
    int code = vv_decoder_new(vv_session_of(session), &o, &made, vv_internal(error));
    if (code == VV_OK) {
        *decoder = (struct varve_decoder *)made;
    }
    return code;
}

void varve_decoder_close(struct varve_decoder *decoder) {
    vv_decoder_free(inner(decoder));
}

int varve_decoder_begin(struct varve_decoder *decoder, const int32_t *tokens, size_t count,
                        struct varve_error *error) {
    return vv_decoder_begin(inner(decoder), tokens, count, vv_internal(error));
}

const float *varve_decoder_logits(const struct varve_decoder *decoder) {
    return vv_decoder_logits((const struct vv_decoder *)decoder);
}

int varve_decoder_sample(struct varve_decoder *decoder, struct varve_sampler *sampler,
                         const int32_t *history, size_t history_length, uint64_t position,
                         int32_t *token, struct varve_error *error) {
    return vv_decoder_sample(inner(decoder), (struct vv_sampler *)sampler, history, history_length,
                             position, token, vv_internal(error));
}

int varve_decoder_take(struct varve_decoder *decoder, int32_t token, uint64_t more,
                       struct varve_error *error) {
    return vv_decoder_take(inner(decoder), token, more, vv_internal(error));
}

int varve_decoder_settle(struct varve_decoder *decoder, struct varve_error *error) {
    return vv_decoder_settle(inner(decoder), vv_internal(error));
}

void varve_decoder_report(const struct varve_decoder *decoder,
                          struct varve_decoder_report *report) {
    struct vv_decoder_report r;
    vv_decoder_report((const struct vv_decoder *)decoder, &r);
    memcpy(report, &r, sizeof *report);
}
