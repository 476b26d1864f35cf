/*
 * Writes a sequence token by token, with drafts that cost no token its place.
 *
 * The caller draws each token from the logits that the decoder gives, and hands it over. If it is
 * the one that was drafted, the logits of the next position are there already; else the drafts from
 * there on never were. So the tokens are those of plain decoding, whatever chooses them: a sampler
 * with its own random number for each position, penalties and bans that see the text so far.
 */
#pragma once
#include "draft/drafting.h"

struct vv_decoder;

/* `session` was opened with windows of most + 1 rows or more, and with `mtp` for VV_DRAFT_MTP and
 * VV_DRAFT_BOTH; it must outlive the decoder. VV_ERROR_INVALID: it was not. */
int vv_decoder_new(struct vv_session *session, const struct vv_decoder_options *options,
                   struct vv_decoder **decoder, struct vv_error *error);
void vv_decoder_free(struct vv_decoder *decoder);

/* One more drafter, up to VV_DRAFTERS_MAX, of a decoder that has taken no token yet; it is freed
 * with the decoder. */
void vv_decoder_add(struct vv_decoder *decoder, struct vv_drafter *drafter);

/* The slot holds these tokens, all of them, and the session's last window had one row of logits,
 * which is the last one's. What the decoder knows of an earlier text stays if this one begins with
 * it. */
int vv_decoder_begin(struct vv_decoder *decoder, const int32_t *tokens, size_t count,
                     struct vv_error *error);

/* Of the next token: [vocabulary], until the next call of vv_decoder_take. */
const float *vv_decoder_logits(const struct vv_decoder *decoder);

/* As vv_sampler_draw from these. The windows that follow are asked to draw such tokens themselves,
 * each at its own position, if the device can. */
int vv_decoder_sample(struct vv_decoder *decoder, struct vv_sampler *sampler,
                      const int32_t *history, size_t history_length, uint64_t position,
                      int32_t *token, struct vv_error *error);

/* The draft of the next token, or -1. */
int32_t vv_decoder_drafted(const struct vv_decoder *decoder);
/* The same, or where there is none what the next token is only compared with; or -1. */
int32_t vv_decoder_expected(const struct vv_decoder *decoder);

/* The token that was drawn becomes part of the text; of those that follow `more` are wanted at
 * most, which saves drafts that nobody reads. After an error the slot is as vv_session_run leaves
 * it, and the decoder has to begin anew. */
int vv_decoder_take(struct vv_decoder *decoder, int32_t token, uint64_t more,
                    struct vv_error *error);

/* The slot holds every token that was taken, and no draft. Needed before anything else is done with
 * the slot; without effect when done again. The logits stay. */
int vv_decoder_settle(struct vv_decoder *decoder, struct vv_error *error);

struct vv_decoder_report {
    struct vv_draft_count counts[VV_DRAFTERS_MAX * VV_DRAFT_KINDS_MAX];
    size_t count_count;
    uint64_t tokens, windows; /* taken, and evaluated for them */
    double seconds;           /* in vv_decoder_take and vv_decoder_settle */
    double draft_seconds;     /* of these: making drafts */
    double plain_seconds;     /* of a window of one token as last measured; 0: there was none */
};
void vv_decoder_report(const struct vv_decoder *decoder, struct vv_decoder_report *report);
