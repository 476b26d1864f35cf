/* Many requests at once. */
#include "session/schedule.h"
#include "api/internal.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)VARVE_NEXT_MAX == (int)VV_VERIFY_ROWS_MAX, "tokens of one window");

struct varve_schedule {
    struct vv_schedule *schedule;
    struct vv_session *session;
};

/* A request under its public name, and its drafts: the inner one's context, until it is over. */
struct request {
    struct varve_request asked;
    struct vv_session *session;
    struct vv_decoder_options drafts;
    struct vv_drafting drafting;
    bool drafts_begun;
    size_t known; /* tokens of the text that it has */
};

static int on_next(void *context, const float *logits, struct vv_next *next,
                   struct vv_error *error) {
    const struct varve_request *request = &((struct request *)context)->asked;
    struct varve_next chosen = {.count = request->sampler ? 1 : 0};
    struct varve_error failure = {0};
    chosen.tokens[0] = next->tokens[0]; /* as drawn */
    int code = request->next(request->context, logits, &chosen, &failure);
    if (code != VARVE_OK) {
        return vv_fail(error, code, "%s", failure.message);
    }
    next->count = chosen.count < VARVE_NEXT_MAX ? chosen.count : VARVE_NEXT_MAX;
    memcpy(next->tokens, chosen.tokens, next->count * sizeof *next->tokens);
    return VV_OK;
}

static int on_draft(void *context, uint32_t slot, const int32_t *text, size_t count, uint32_t most,
                    struct vv_next *next, struct vv_error *error) {
    struct request *r = context;
    uint32_t drafts = 0;
    int code = VV_OK;
    if (!r->drafts_begun) {
        r->drafts.slot = slot;
        r->drafts_begun = true;
        code = vv_drafting_open(&r->drafting, r->session, &r->drafts, error);
    }
    code = code ? code : vv_drafting_append(&r->drafting, text + r->known, count - r->known, error);
    r->known = count;
    most = most < r->drafts.most ? most : r->drafts.most;
    code =
        code ? code
             : vv_drafting_propose(&r->drafting, most, next->tokens + next->count, &drafts, error);
    next->count += code == VV_OK ? drafts : 0;
    return code;
}

static void on_judged(void *context, uint32_t rows, uint32_t accepted, bool refused,
                      double seconds) {
    struct request *r = context;
    if (r->drafts_begun) {
        vv_drafting_window(&r->drafting, rows, seconds);
        vv_drafting_judged(&r->drafting, rows, accepted, refused);
    }
}

static void on_ended(void *context, const int32_t *text, size_t count, int code,
                     const struct vv_error *error) {
    struct request *r = context;
    struct varve_error failure = {.code = code};
    if (code != VV_OK) {
        memcpy(failure.message, error->message, sizeof failure.message);
    }
    if (r->asked.ended) {
        r->asked.ended(r->asked.context, text, count, code, &failure);
    }
    vv_drafting_close(&r->drafting);
    free(r);
}

/* ---- schedules ---- */

int varve_schedule_open(struct varve_session *session, double latency,
                        struct varve_schedule **schedule, struct varve_error *error) {
    const struct vv_schedule_options options = {latency};
    struct varve_schedule *made = malloc(sizeof *made);
    if (!made) {
        return vv_fail_memory(vv_internal(error), sizeof *made, "a schedule");
    }
    made->session = vv_session_of(session);
    int code = vv_schedule_new(made->session, &options, &made->schedule, vv_internal(error));
    if (code != VV_OK) {
        free(made);
        return code;
    }
    *schedule = made;
    return VV_OK;
}

void varve_schedule_close(struct varve_schedule *schedule) {
    if (schedule) {
        vv_schedule_free(schedule->schedule);
        free(schedule);
    }
}

static int add(struct varve_schedule *schedule, struct request *r, uint64_t *id,
               struct vv_error *error) {
    bool drafts = r->drafts.draft != VV_DRAFT_OFF;
    const struct vv_request added = {.prompt = r->asked.prompt,
                                     .count = r->asked.count,
                                     .priority = r->asked.priority,
                                     .stable = r->asked.stable,
                                     .sampler = (struct vv_sampler *)r->asked.sampler,
                                     .next = on_next,
                                     .draft = drafts ? on_draft : NULL,
                                     .judged = drafts ? on_judged : NULL,
                                     .ended = on_ended,
                                     .context = r};
    int code = vv_drafting_check(schedule->session, &r->drafts, error);
    return code ? code : vv_schedule_add(schedule->schedule, &added, id, error);
}

int varve_schedule_add(struct varve_schedule *schedule, const struct varve_request *request,
                       uint64_t *id, struct varve_error *error) {
    struct request *r = malloc(sizeof *r);
    if (!r) {
        return vv_fail_memory(vv_internal(error), sizeof *r, "a request");
    }
    *r = (struct request){.asked = *request,
                          .session = schedule->session,
                          .drafts = vv_translate_drafts(&request->drafts)};
    int code = add(schedule, r, id, vv_internal(error));
    if (code != VV_OK) {
        free(r);
    }
    return code;
}

void varve_schedule_cancel(struct varve_schedule *schedule, uint64_t id) {
    vv_schedule_cancel(schedule->schedule, id);
}

int varve_schedule_step(struct varve_schedule *schedule, struct varve_schedule_step *step,
                        struct varve_error *error) {
    struct vv_schedule_step s;
    int code = vv_schedule_step(schedule->schedule, &s, vv_internal(error));
    *step = (struct varve_schedule_step){s.idle,    s.rows,     s.sequences, s.waiting,
                                         s.offered, s.accepted, s.seconds};
    return code;
}
