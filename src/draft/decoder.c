#include "draft/decoder.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

struct vv_decoder {
    struct vv_session *session;
    struct vv_decoder_options options;
    struct vv_drafter *drafters[VV_DRAFTERS_MAX];
    uint32_t drafter_count;
    struct vv_depth depth;
    int32_t *text; /* [count] all tokens taken, the prompt's before them */
    size_t count, room;
    /* The window that was evaluated last: a token, then drafts. The first row + 1 are taken. */
    int32_t window[VV_VERIFY_ROWS_MAX];
    uint32_t rows, row;
    bool open; /* it was verified and waits for its commit */
    struct vv_depth_choice choice;
    uint32_t kind;  /* of its drafts */
    double seconds; /* that it took so far */
    bool warm_windows,
        warm_drafts; /* a first one records programs, which says nothing of the next */
    struct vv_decoder_report report;
};

/* ---- life ---- */

void vv_decoder_add(struct vv_decoder *d, struct vv_drafter *drafter) {
    d->drafters[d->drafter_count++] = drafter;
}

static int add_made(struct vv_decoder *d, struct vv_drafter *drafter, struct vv_error *error) {
    if (!drafter) {
        return vv_fail_memory(error, sizeof *d, "a drafter");
    }
    vv_decoder_add(d, drafter);
    return VV_OK;
}

static int add_drafters(struct vv_decoder *d, struct vv_error *error) {
    enum vv_draft draft = d->options.draft;
    int code = VV_OK;
    if (draft == VV_DRAFT_MTP || draft == VV_DRAFT_BOTH) {
        code = add_made(d, vv_mtp_drafter(d->session, d->options.slot), error);
    }
    if (code == VV_OK && (draft == VV_DRAFT_SUFFIX || draft == VV_DRAFT_BOTH)) {
        code = add_made(d, vv_suffix_drafter(), error);
    }
    return code;
}

static int check(const struct vv_session *session, const struct vv_decoder_options *o,
                 struct vv_error *error) {
    const struct vv_session_options *s = vv_session_options_of(session);
    if (o->slot >= s->slots) {
        return vv_fail(error, VV_ERROR_INVALID, "slot %u is asked for; there are %u", o->slot,
                       s->slots);
    }
    if (o->draft == VV_DRAFT_OFF) {
        return VV_OK;
    }
    if (o->most < 1 || o->most > VV_DRAFTS_MAX ||
        (o->most >= s->window && s->window < s->context)) {
        uint32_t most = s->window - 1 < VV_DRAFTS_MAX ? s->window - 1 : VV_DRAFTS_MAX;
        return vv_fail(error, VV_ERROR_INVALID,
                       "%u drafts a window are asked for; 1 to %u are possible with windows of %u "
                       "rows",
                       o->most, most, s->window);
    }
    if (o->draft != VV_DRAFT_SUFFIX && !s->mtp) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "the session was opened without a draft block, so it can't draft with one");
    }
    return VV_OK;
}

int vv_decoder_new(struct vv_session *session, const struct vv_decoder_options *options,
                   struct vv_decoder **decoder, struct vv_error *error) {
    int code = check(session, options, error);
    if (code != VV_OK) {
        return code;
    }
    struct vv_decoder *d = calloc(1, sizeof *d);
    if (!d) {
        return vv_fail_memory(error, sizeof *d, "a decoder");
    }
    d->session = session;
    d->options = *options;
    code = add_drafters(d, error);
    if (code != VV_OK) {
        vv_decoder_free(d);
        return code;
    }
    *decoder = d;
    return VV_OK;
}

void vv_decoder_free(struct vv_decoder *d) {
    if (d) {
        for (uint32_t i = 0; i < d->drafter_count; i++) {
            d->drafters[i]->calls->free(d->drafters[i]);
        }
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
    int code = VV_OK;
    for (uint32_t i = 0; code == VV_OK && i < d->drafter_count; i++) {
        code = d->drafters[i]->calls->append(d->drafters[i], tokens, count, error);
    }
    return code;
}

static void clear(struct vv_decoder *d) {
    d->count = 0;
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        d->drafters[i]->calls->clear(d->drafters[i]);
    }
}

int vv_decoder_begin(struct vv_decoder *d, const int32_t *tokens, size_t count,
                     struct vv_error *error) {
    d->rows = d->row = 0;
    d->open = false;
    if (count != vv_session_length(d->session, d->options.slot)) {
        return vv_fail(error, VV_ERROR_INVALID, "slot %u holds %zu tokens, not %zu",
                       d->options.slot, vv_session_length(d->session, d->options.slot), count);
    }
    if (d->count > count || (d->count && memcmp(d->text, tokens, d->count * sizeof *tokens) != 0)) {
        clear(d);
    }
    return count > d->count ? append(d, tokens + d->count, count - d->count, error) : VV_OK;
}

/* ---- windows ---- */

static void count_drafts(struct vv_decoder *d, uint32_t accepted) {
    struct vv_draft_count *c = &d->report.counts[d->choice.drafter * VV_DRAFT_KINDS_MAX + d->kind];
    for (uint32_t i = 0; i + 1 < d->rows; i++) {
        c->offered[i]++;
        c->accepted[i] += i < accepted;
    }
}

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
    if (d->warm_windows) {
        vv_depth_window(&d->depth, d->rows, d->seconds + took);
    }
    d->warm_windows = true;
    count_drafts(d, d->row);
    vv_depth_judged(&d->depth, d->choice.drafter, d->kind, d->row, refused && d->row + 1 < d->rows);
    return code;
}

/* Every drafter's offer of at most `most` drafts. */
static struct vv_depth_offers offers(const struct vv_decoder *d, uint32_t most) {
    struct vv_depth_offers o = {.count = d->drafter_count};
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        const struct vv_drafter_calls *calls = d->drafters[i]->calls;
        o.offer[i] = most > 0 ? calls->offer(d->drafters[i], most) : (struct vv_offer){0, 0};
        o.ready[i] = calls->ready;
    }
    return o;
}

/* A drafter that is ready, but for an offer of another that is surer; all that it offers. */
static struct vv_depth_choice fixed_choice(const struct vv_decoder *d,
                                           const struct vv_depth_offers *o) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < o->count; i++) {
        bool sure = o->offer[i].most > 0 && o->offer[i].kind >= d->drafters[i]->calls->trust;
        best = sure || o->offer[best].most == 0 ? i : best;
    }
    return (struct vv_depth_choice){best, o->offer[best].most};
}

/* Fills the window behind its first token. */
static int draft(struct vv_decoder *d, uint32_t most, struct vv_error *error) {
    const struct vv_depth_offers o = offers(d, most);
    d->rows = 1;
    d->choice = d->options.fixed ? fixed_choice(d, &o) : vv_depth_choose(&d->depth, &o);
    if (d->choice.count == 0) {
        return VV_OK;
    }
    struct vv_drafter *drafter = d->drafters[d->choice.drafter];
    double began = vv_seconds();
    int code = drafter->calls->propose(drafter, d->choice.count, d->window + 1, error);
    double took = vv_seconds() - began;
    d->report.draft_seconds += took;
    if (d->warm_drafts) {
        vv_depth_drafted(&d->depth, d->choice.drafter, d->choice.count, took);
    }
    d->warm_drafts = true;
    d->kind = o.offer[d->choice.drafter].kind;
    d->rows += d->choice.count;
    return code;
}

static int evaluate(struct vv_decoder *d, struct vv_error *error) {
    struct vv_row rows[VV_VERIFY_ROWS_MAX];
    for (uint32_t r = 0; r < d->rows; r++) {
        rows[r] = (struct vv_row){d->options.slot, d->window[r], true};
    }
    double began = vv_seconds();
    int code =
        vv_session_run(d->session, rows, d->rows, d->rows > 1 ? VV_VERIFY : VV_ADVANCE, error);
    d->seconds = vv_seconds() - began;
    d->open = code == VV_OK && d->rows > 1;
    d->row = 0;
    d->report.windows++;
    if (code == VV_OK && d->rows == 1) {
        vv_depth_window(&d->depth, 1, d->seconds);
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

int vv_decoder_take(struct vv_decoder *d, int32_t token, uint64_t more, struct vv_error *error) {
    double began = vv_seconds();
    int code = VV_OK;
    d->report.tokens++;
    if (token >= 0 && token == vv_decoder_drafted(d)) {
        d->row++;
        return append(d, &token, 1, error);
    }
    code = close_window(d, true, error);
    began = vv_seconds(); /* that has counted its own */
    code = code == VV_OK ? append(d, &token, 1, error) : code;
    d->window[0] = token;
    code = code == VV_OK ? draft(d, drafts_most(d, more), error) : code;
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

void vv_decoder_report(const struct vv_decoder *d, struct vv_decoder_report *report) {
    *report = d->report;
    report->count_count = 0;
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        for (uint32_t k = 0; k < d->drafters[i]->calls->kind_count; k++) {
            report->counts[report->count_count] = d->report.counts[i * VV_DRAFT_KINDS_MAX + k];
            report->counts[report->count_count++].kind = d->drafters[i]->calls->kinds[k];
        }
    }
    report->plain_seconds = vv_depth_seconds(&d->depth, 1);
}
