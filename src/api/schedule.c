/* Many requests at once. */
#include "session/schedule.h"
#include "api/internal.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)VARVE_NEXT_MAX == (int)VV_VERIFY_ROWS_MAX, "tokens of one window");

static struct vv_schedule *inner(struct varve_schedule *schedule) {
    return (struct vv_schedule *)schedule;
}

/* ---- a request under its two names: this is the inner one's context, until it is over ---- */

static int on_next(void *context, const float *logits, struct vv_next *next,
                   struct vv_error *error) {
    const struct varve_request *request = context;
    struct varve_next chosen = {.count = 0};
    struct varve_error failure = {0};
    int code = request->next(request->context, logits, &chosen, &failure);
    if (code != VARVE_OK) {
        return vv_fail(error, code, "%s", failure.message);
    }
    next->count = chosen.count < VARVE_NEXT_MAX ? chosen.count : VARVE_NEXT_MAX;
    memcpy(next->tokens, chosen.tokens, next->count * sizeof *next->tokens);
    return VV_OK;
}

static void on_ended(void *context, const int32_t *text, size_t count, int code,
                     const struct vv_error *error) {
    struct varve_request *request = context;
    struct varve_error failure = {.code = code};
    if (code != VV_OK) {
        memcpy(failure.message, error->message, sizeof failure.message);
    }
    if (request->ended) {
        request->ended(request->context, text, count, code, &failure);
    }
    free(request);
}

/* ---- schedules ---- */

int varve_schedule_open(struct varve_session *session, double latency,
                        struct varve_schedule **schedule, struct varve_error *error) {
    const struct vv_schedule_options options = {latency};
    struct vv_schedule *made;
    int code = vv_schedule_new(vv_session_of(session), &options, &made, vv_internal(error));
    if (code == VV_OK) {
        *schedule = (struct varve_schedule *)made;
    }
    return code;
}

void varve_schedule_close(struct varve_schedule *schedule) {
    vv_schedule_free(inner(schedule));
}

int varve_schedule_add(struct varve_schedule *schedule, const struct varve_request *request,
                       uint64_t *id, struct varve_error *error) {
    struct varve_request *copy = malloc(sizeof *copy);
    if (!copy) {
        return vv_fail_memory(vv_internal(error), sizeof *copy, "a request");
    }
    *copy = *request;
    const struct vv_request added = {.prompt = request->prompt,
                                     .count = request->count,
                                     .priority = request->priority,
                                     .stable = request->stable,
                                     .next = on_next,
                                     .ended = on_ended,
                                     .context = copy};
    int code = vv_schedule_add(inner(schedule), &added, id, vv_internal(error));
    if (code != VV_OK) {
        free(copy);
    }
    return code;
}

void varve_schedule_cancel(struct varve_schedule *schedule, uint64_t id) {
    vv_schedule_cancel(inner(schedule), id);
}

int varve_schedule_step(struct varve_schedule *schedule, struct varve_schedule_step *step,
                        struct varve_error *error) {
    struct vv_schedule_step s;
    int code = vv_schedule_step(inner(schedule), &s, vv_internal(error));
    *step = (struct varve_schedule_step){s.idle, s.rows, s.sequences, s.waiting, s.seconds};
    return code;
}
