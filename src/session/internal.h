/* A session's inside, for src/session alone. */
#pragma once
#include "session/identity.h"
#include "session/session.h"
#include "session/store.h"

enum vv_pass {
    PASS_TRUNK,
    PASS_VERIFY,
    PASS_COMMIT,
    PASS_MTP,        /* the draft block on the trunk's window */
    PASS_MTP_COMMIT, /* and on rows that were verified */
    PASS_DRAFT,
    PASSES
};

/* A recorded pass. */
struct pass {
    struct vv_program *program; /* its result: [outputs][vocabulary] logits */
    struct vv_forward forward;
};

struct slot {
    struct vv_sequence has; /* its pages are copies, made when it was kept */
    size_t marked;          /* where the last checkpoint was tried */
    size_t verified;        /* rows of the last verify window that wait for a commit */
    int32_t verified_token[VV_VERIFY_ROWS_MAX];
};

struct vv_session {
    const struct vv_gguf *mapped; /* the file, if weights may be read from its mapping; else NULL */
    const struct vv_gguf *file;
    bool identified; /* `identity` was computed: once a file needs it */
    struct vv_identity identity;
    const struct vv_family *family;
    const void *geometry;
    struct vv_session_options options;
    struct vv_model_facts facts;
    struct vv_device *device;
    struct vv_weights *weights;
    char draft_block[32]; /* what its tensors' names begin with */
    void *bound;
    struct vv_state_part *parts;
    struct vv_state_view *views;
    size_t part_count;
    struct slot *slots;
    int32_t *tokens; /* [slots][context] */
    struct vv_store store;
    size_t spacing; /* tokens from one checkpoint to the next at most; 0: there are none */
    struct pass passes[PASSES];
    bool unfollowed;             /* the draft block is left behind */
    const struct pass *last;     /* whose logits are shown */
    const struct pass *observed; /* trunk or verify of the last window */
    void *shown;                 /* what vv_session_observed gave last */
};

/* The pass, recorded when it is first needed. */
int vv_session_pass(struct vv_session *session, enum vv_pass which, struct pass **pass,
                    struct vv_error *error);

/* Checkpoints of a slot that was read on, where one is due. */
void vv_session_mark_due(struct vv_session *session, uint32_t slot, size_t ahead);
/* Frees what memory keeps of slots and other sequences. */
void vv_session_forget(struct vv_session *session);
/* A checkpoint's block to be filled, if there is room for it: others may go for it; NULL: not. */
struct vv_block *vv_session_room_for_mark(struct vv_session *session, size_t position,
                                          size_t bytes);
int vv_session_check_slot(const struct vv_session *session, uint32_t slot, struct vv_error *error);
/* Bytes of the parts that a checkpoint copies, for any length that is long enough. */
size_t vv_session_mark_bytes(const struct vv_session *session);
