#include "draft/decoder.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

struct vv_decoder {
    struct vv_session *session;
    struct vv_decoder_options options;
    struct vv_drafting drafting;
    int32_t *text; /* [count] all tokens taken, the prompt's before them */
    size_t count, room;
    /* The window that was evaluated last: a token, then drafts. The first row + 1 are taken. */
    int32_t window[VV_VERIFY_ROWS_MAX];
    uint32_t rows, row;
    bool open;           /* it was verified and waits for its commit */
    struct vv_draw draw; /* how the last token was drawn, its position less the text's length */
    double seconds;      /* that it took so far */
    struct vv_decoder_report report;
};

/* ---- life ---- */

void vv_decoder_add(struct vv_decoder *d, struct vv_drafter *drafter) {
    d->drafting.drafters[d->drafting.drafter_count++] = drafter;
}

int vv_decoder_new(struct vv_session *session, const struct vv_decoder_options *options,
                   struct vv_decoder **decoder, struct vv_error *error) {
    const struct vv_session_options *s = vv_session_options_of(session);
    if (options->slot >= s->slots) {
        return vv_fail(error, VV_ERROR_INVALID, "slot %u is asked for; there are %u", options->slot,
                       s->slots);
    }
    int code = vv_drafting_check(session, options, error);
    if (code != VV_OK) {
        return code;
    }
    struct vv_decoder *d = calloc(1, sizeof *d);
    if (!d) {
        return vv_fail_memory(error, sizeof *d, "a decoder");
    }
    d->session = session;
    d->options = *options;
    code = vv_drafting_open(&d->drafting, session, options, error);
    if (code != VV_OK) {
        vv_decoder_free(d);
        return code;
    }
    *decoder = d;
    return VV_OK;
}

void vv_decoder_free(struct vv_decoder *d) {
    if (d) {
        vv_drafting_close(&d->drafting);
        free(d->text);
        free(d);
    }
}

/* ---- the text ---- */

static int append(struct vv_decoder *d, const int32_t *tokens, size_t count,
                  struct vv_error *error) {
    if (count > d->room - d->count) {
        size_t room = 2 * (d->count + count);
        int32_t *text = realloc(d->text, room * sizeof *text);
        if (!text) {
            return vv_fail_memory(error, room * sizeof *text, "the tokens of a text");
        }
        d->text = text;
        d->room = room;
    }
    memcpy(d->text + d->count, tokens, count * sizeof *tokens);
    d->count += count;
    return vv_drafting_append(&d->drafting, tokens, count, error);
}

int vv_decoder_begin(struct vv_decoder *d, const int32_t *tokens, size_t count,
                     struct vv_error *error) {
    d->rows = d->row = 0;
    d->open = false;
    vv_drafting_drop_test(&d->drafting);
    if (count != vv_session_length(d->session, d->options.slot)) {
        return vv_fail(error, VV_ERROR_INVALID, "slot %u holds %zu tokens, not %zu",
                       d->options.slot, vv_session_length(d->session, d->options.slot), count);
    }
    if (d->count > count || (d->count && memcmp(d->text, tokens, d->count * sizeof *tokens) != 0)) {
        d->count = 0;
        vv_drafting_clear(&d->drafting);
    }
    return count > d->count ? append(d, tokens + d->count, count - d->count, error) : VV_OK;
}

/* ---- windows ---- */

/* The rows that were taken become part of the slot. `refused`: another token came than the next
 * draft, if there is a next one; else nobody asked. */
static int close_window(struct vv_decoder *d, bool refused, struct vv_error *error) {
    if (!d->open) {
        return VV_OK;
    }
    double began = vv_seconds();
    d->open = false;
    int code = vv_session_commit(d->session, d->options.slot, d->row + 1, error);
    double took = vv_seconds() - began;
    d->report.seconds += took;
    vv_drafting_window(&d->drafting, d->rows, d->seconds + took);
    vv_drafting_judged(&d->drafting, d->rows, d->row, refused);
    return code;
}

static int evaluate(struct vv_decoder *d, struct vv_error *error) {
    struct vv_row rows[VV_VERIFY_ROWS_MAX];
    for (uint32_t r = 0; r < d->rows; r++) {
        rows[r] = (struct vv_row){d->options.slot, d->window[r], true, d->draw};
        rows[r].draw.position += d->count + r;
    }
    double began = vv_seconds();
    int code =
        vv_session_run(d->session, rows, d->rows, d->rows > 1 ? VV_VERIFY : VV_ADVANCE, error);
    d->seconds = vv_seconds() - began;
    d->open = code == VV_OK && d->rows > 1;
    d->row = 0;
    d->report.windows++;
    if (code == VV_OK && d->rows == 1) {
        vv_drafting_window(&d->drafting, 1, d->seconds);
    }
    return code;
}

/* Drafts that have room in the context and among the tokens that are wanted. */
static uint32_t drafts_most(const struct vv_decoder *d, uint64_t more) {
    uint64_t left =
        vv_session_options_of(d->session)->context - vv_session_length(d->session, d->options.slot);
    uint64_t most = d->options.most;
    most = left > 0 && most > left - 1 ? left - 1 : most;
    return more == 0 ? 0 : (uint32_t)(most < more - 1 ? most : more - 1);
}

int32_t vv_decoder_drafted(const struct vv_decoder *d) {
    return d->open && d->row + 1 < d->rows ? d->window[d->row + 1] : -1;
}

int32_t vv_decoder_expected(const struct vv_decoder *d) {
    int32_t drafted = vv_decoder_drafted(d);
    return drafted >= 0 ? drafted : d->drafting.test;
}

int vv_decoder_take(struct vv_decoder *d, int32_t token, uint64_t more, struct vv_error *error) {
    uint32_t drafts = 0;
    d->report.tokens++;
    if (token >= 0 && token == vv_decoder_drafted(d)) {
        d->row++;
        return append(d, &token, 1, error);
    }
    int code = close_window(d, true, error);
    double began = vv_seconds(); /* that has counted its own */
    code = code == VV_OK ? append(d, &token, 1, error) : code;
    d->window[0] = token;
    code = code == VV_OK ? vv_drafting_propose(&d->drafting, drafts_most(d, more), d->window + 1,
                                               &drafts, error)
                         : code;
    d->rows = 1 + drafts;
    code = code == VV_OK ? evaluate(d, error) : code;
    d->report.seconds += vv_seconds() - began;
    return code;
}

int vv_decoder_settle(struct vv_decoder *d, struct vv_error *error) {
    return close_window(d, false, error);
}

const float *vv_decoder_logits(const struct vv_decoder *d) {
    return vv_session_logits(d->session, d->row);
}

int vv_decoder_sample(struct vv_decoder *d, struct vv_sampler *sampler, const int32_t *history,
                      size_t history_length, uint64_t position, int32_t *token,
                      struct vv_error *error) {
    d->draw = vv_session_ask(d->session, sampler, position);
    d->draw.position -= d->count;
    return vv_session_sample(d->session, d->row, sampler, history, history_length, position, token,
                             error);
}

void vv_decoder_report(const struct vv_decoder *d, struct vv_decoder_report *report) {
    const struct vv_drafting *from = &d->drafting;
    *report = d->report;
    report->count_count = 0;
    for (uint32_t i = 0; i < from->drafter_count; i++) {
        for (uint32_t k = 0; k < from->drafters[i]->calls->kind_count; k++) {
            struct vv_draft_count *count = &report->counts[report->count_count++];
            *count = from->counts[i * VV_DRAFT_KINDS_MAX + k];
            count->kind = from->drafters[i]->calls->kinds[k];
        }
    }
    report->draft_seconds = from->seconds;
    report->plain_seconds = vv_depth_seconds(&from->depth, 1);
}
