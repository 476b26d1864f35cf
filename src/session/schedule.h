/*
 * Answers many requests with one session: merges the rows of their sequences (prompts in pieces,
 * tokens, drafts to be verified) into windows. What a request gets does not depend on its company:
 * only when.
 *
 *   - Requests wait for a free slot, the highest priority first, then the earliest.
 *   - A sequence that has one token to evaluate goes before any prompt. Of several prompts, those
 *     of the highest priority go first, and among them whoever has read least: a short one is not
 *     held up by a long one, and a long one by no more than a few windows of short ones.
 *   - No window is meant to take longer than `latency`, so nobody waits longer for another's
 *     prompt.
 *   - What slots hold is reused by what comes later (vv_session_resume).
 *   - If a window fails, each of its sequences is tried again alone, from its beginning; only what
 *     fails alone ends with the error.
 *   - Drafts are verified in windows in which nobody reads a prompt.
 */
#pragma once
#include "session/session.h"

/* What comes next in an answer. */
struct vv_next {
    int32_t tokens[VV_VERIFY_ROWS_MAX]; /* the next token, and drafts of those that may follow */
    uint32_t count;                     /* 0: the answer has ended */
};

struct vv_request {
    const int32_t *prompt; /* [count], copied */
    size_t count;          /* 1 or more */
    int priority;          /* higher goes first */
    size_t stable; /* a later prompt will begin with so many tokens: there will be a checkpoint; 0:
                    * not known */
    /* Draws the answer's tokens, where their logits are if that can be; NULL: `next` does it. The
     * draw's position is the text's length. It must outlive the request; others may have it, too.
     */
    struct vv_sampler *sampler;
    /* Chooses from the logits of the text's last token; with a sampler these are NULL, and the
     * token that was drawn stands in `next` already. Called once for every token of the answer, in
     * order; drafts only count where they prove right. A code other than 0 ends the request. */
    int (*next)(void *context, const float *logits, struct vv_next *next, struct vv_error *error);
    /* Adds drafts to next->tokens [next->count], up to `most`; the slot holds all of `text` [count]
     * but its last token. Called where a window can verify them; NULL: those of `next` alone. */
    int (*draft)(void *context, uint32_t slot, const int32_t *text, size_t count, uint32_t most,
                 struct vv_next *next, struct vv_error *error);
    /* A window is over, of which its share were so many seconds, with `rows` of this request: one,
     * and drafts of which the first `accepted` were right; `refused`: the next one wasn't. NULL:
     * nobody wants to know. */
    void (*judged)(void *context, uint32_t rows, uint32_t accepted, bool refused, double seconds);
    /* The request is over: VV_OK, VV_ERROR_CANCELLED, or what went wrong. `text` [count] is its
     * prompt and answer. Called once. */
    void (*ended)(void *context, const int32_t *text, size_t count, int code,
                  const struct vv_error *error);
    void *context; /* of all of these */
};

struct vv_schedule_options {
    double latency; /* seconds that a window should take at most; 0: no limit */
};

struct vv_schedule;
/* The session must outlive it, and is used by nobody else meanwhile. */
int vv_schedule_new(struct vv_session *session, const struct vv_schedule_options *options,
                    struct vv_schedule **schedule, struct vv_error *error);
/* Requests that are not over end as if they were cancelled. */
void vv_schedule_free(struct vv_schedule *schedule);

/* May be called by `next` and `ended`, too. `*id`: for vv_schedule_cancel. */
int vv_schedule_add(struct vv_schedule *schedule, const struct vv_request *request, uint64_t *id,
                    struct vv_error *error);
/* Ends a request before the next window, and `next` is not called for it any more; an id that is
 * over is let be. */
void vv_schedule_cancel(struct vv_schedule *schedule, uint64_t id);

struct vv_schedule_step {
    bool idle;        /* there was nothing to do */
    size_t rows;      /* of the window */
    size_t sequences; /* in it */
    size_t waiting;   /* requests without a slot */
    size_t offered;   /* drafts in it */
    size_t accepted;  /* of these */
    double seconds;
};
/* Evaluates one window. Fails only without memory for its own lists. */
int vv_schedule_step(struct vv_schedule *schedule, struct vv_schedule_step *step,
                     struct vv_error *error);
