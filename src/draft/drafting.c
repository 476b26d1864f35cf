#include "draft/drafting.h"
#include "base/clock.h"

int vv_drafting_check(const struct vv_session *session, const struct vv_decoder_options *o,
                      struct vv_error *error) {
    const struct vv_session_options *s = vv_session_options_of(session);
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

static int add_made(struct vv_drafting *d, struct vv_drafter *drafter, struct vv_error *error) {
    if (!drafter) {
        return vv_fail_memory(error, sizeof *d, "a drafter");
    }
    d->drafters[d->drafter_count++] = drafter;
    return VV_OK;
}

int vv_drafting_open(struct vv_drafting *d, struct vv_session *session,
                     const struct vv_decoder_options *options, struct vv_error *error) {
    enum vv_draft draft = options->draft;
    int code = VV_OK;
    *d = (struct vv_drafting){.fixed = options->fixed, .test = -1, .session = session};
    if (draft == VV_DRAFT_MTP || draft == VV_DRAFT_BOTH) {
        code = add_made(d, vv_mtp_drafter(session, options->slot), error);
    }
    if (code == VV_OK && (draft == VV_DRAFT_SUFFIX || draft == VV_DRAFT_BOTH)) {
        code = add_made(d, vv_suffix_drafter(), error);
    }
    return code;
}

void vv_drafting_close(struct vv_drafting *d) {
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        d->drafters[i]->calls->free(d->drafters[i]);
    }
    d->drafter_count = 0;
}

void vv_drafting_drop_test(struct vv_drafting *d) {
    d->test = -1;
}

int vv_drafting_append(struct vv_drafting *d, const int32_t *tokens, size_t count,
                       struct vv_error *error) {
    int code = VV_OK;
    if (d->test >= 0 && count > 0) {
        vv_depth_tested(&d->depth, d->choice.drafter, d->kind, tokens[0] == d->test);
        vv_drafting_drop_test(d);
    }
    for (uint32_t i = 0; code == VV_OK && i < d->drafter_count; i++) {
        code = d->drafters[i]->calls->append(d->drafters[i], tokens, count, error);
    }
    return code;
}

void vv_drafting_clear(struct vv_drafting *d) {
    vv_drafting_drop_test(d);
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        d->drafters[i]->calls->clear(d->drafters[i]);
    }
}

/* Every drafter's offer of at most `most` drafts. */
static struct vv_depth_offers offers(const struct vv_drafting *d, uint32_t most) {
    struct vv_depth_offers o = {.count = d->drafter_count};
    for (uint32_t i = 0; i < d->drafter_count; i++) {
        const struct vv_drafter_calls *calls = d->drafters[i]->calls;
        o.offer[i] = most > 0 ? calls->offer(d->drafters[i], most) : (struct vv_offer){0, 0};
        o.ready[i] = calls->ready;
    }
    return o;
}

/* A drafter that is ready, but for an offer of another that is surer; all that it offers. */
static struct vv_depth_choice fixed_choice(const struct vv_drafting *d,
                                           const struct vv_depth_offers *o) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < o->count; i++) {
        bool sure = o->offer[i].most > 0 && o->offer[i].kind >= d->drafters[i]->calls->trust;
        best = sure || o->offer[best].most == 0 ? i : best;
    }
    return (struct vv_depth_choice){best, o->offer[best].most, false};
}

/* Whether nothing was prepared in what was timed. On a GPU the first two windows of a size take up
 * to twice as long as those that follow, and would tell that it isn't worth another. */
static bool settled(const struct vv_drafting *d) {
    return vv_session_prepared(d->session) == d->prepared;
}

static int make(struct vv_drafting *d, uint32_t count, int32_t *drafts, struct vv_error *error) {
    struct vv_drafter *drafter = d->drafters[d->choice.drafter];
    double began = vv_seconds();
    int code = drafter->calls->propose(drafter, count, drafts, error);
    double took = vv_seconds() - began;
    d->seconds += took;
    if (settled(d)) {
        vv_depth_drafted(&d->depth, d->choice.drafter, count, took);
    }
    d->prepared = vv_session_prepared(d->session); /* the window's own begins */
    return code;
}

int vv_drafting_propose(struct vv_drafting *d, uint32_t most, int32_t *drafts, uint32_t *count,
                        struct vv_error *error) {
    const struct vv_depth_offers o = offers(d, most);
    d->prepared = vv_session_prepared(d->session);
    d->choice = d->fixed ? fixed_choice(d, &o) : vv_depth_choose(&d->depth, &o);
    d->kind = o.offer[d->choice.drafter].kind;
    *count = d->choice.count;
    if (d->choice.test) {
        return make(d, 1, &d->test, error);
    }
    return d->choice.count > 0 ? make(d, d->choice.count, drafts, error) : VV_OK;
}

void vv_drafting_window(struct vv_drafting *d, uint32_t rows, double seconds) {
    (settled(d) ? vv_depth_window : vv_depth_prepared)(&d->depth, rows, seconds);
}

void vv_drafting_judged(struct vv_drafting *d, uint32_t rows, uint32_t accepted, bool refused) {
    struct vv_draft_count *c = &d->counts[d->choice.drafter * VV_DRAFT_KINDS_MAX + d->kind];
    for (uint32_t i = 0; i + 1 < rows; i++) {
        c->offered[i]++;
        c->accepted[i] += i < accepted;
    }
    vv_depth_judged(&d->depth, d->choice.drafter, d->kind, accepted,
                    refused && accepted + 1 < rows);
}
