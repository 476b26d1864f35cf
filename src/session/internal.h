/* A session's inside, for src/session alone. */
#pragma once
#include "session/session.h"

enum vv_pass {
    PASS_TRUNK,
    PASS_VERIFY,
    PASS_COMMIT,
    PASS_MTP,        /* the draft block on the trunk's window */
    PASS_MTP_COMMIT, /* and on rows that were verified */
    PASS_DRAFT,
    PASSES
};

/* A recorded pass and what it left behind. */
struct pass {
    struct vv_program *program;
    struct vv_forward forward;
    float
        *logits; /* host copy [outputs][vocabulary], where the device's memory is not the host's */
};

struct slot {
    size_t length;
    size_t verified; /* rows of the last verify window that wait for a commit */
    int32_t verified_token[VV_VERIFY_ROWS_MAX];
};

struct vv_session {
    const struct vv_gguf *mapped; /* the file, if weights may be read from its mapping; else NULL */
    const struct vv_family *family;
    const void *geometry;
    struct vv_session_options options;
    struct vv_model_facts facts;
    struct vv_device *device;
    struct vv_weights *weights;
    void *bound;
    struct vv_state_part *parts;
    struct vv_state_view *views;
    size_t part_count;
    struct slot *slots;
    struct pass passes[PASSES];
    const struct pass *last;     /* whose logits are shown */
    const struct pass *observed; /* trunk or verify of the last window */
    void *shown;                 /* what vv_session_observed gave last */
};

/* The pass, recorded when it is first needed. */
int vv_session_pass(struct vv_session *session, enum vv_pass which, struct pass **pass,
                    struct vv_error *error);
