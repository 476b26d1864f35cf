/*
 * Who proposes the tokens that come next. Drafts are only offers: the model decides every token, so
 * a drafter can be wrong, and costs time then, but never changes a text.
 *
 * A drafter is one file: a struct that begins with a `struct vv_drafter`, the calls below, and a
 * function that makes it.
 */
#pragma once
#include "base/error.h"
#include "session/session.h"

enum {
    VV_DRAFTS_MAX = VV_VERIFY_ROWS_MAX - 1, /* behind the token that was drawn, in a window */
    VV_DRAFT_KINDS_MAX = 4,
};

/* What a drafter could propose now. Offers of one kind are accepted alike, so they are counted
 * together; kinds are ordered, the surest last. */
struct vv_offer {
    uint32_t most; /* drafts; 0: none */
    uint32_t kind;
};

struct vv_drafter;
struct vv_drafter_calls {
    const char *const *kinds; /* [kind_count] their names */
    uint32_t kind_count;
    bool ready;     /* always has an offer, of one kind */
    uint32_t trust; /* offers of this kind and above go before those of a drafter that is ready */
    /* Tokens are now the end of the text. */
    int (*append)(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                  struct vv_error *error);
    /* The text is empty again. */
    void (*clear)(struct vv_drafter *drafter);
    /* At most `most` drafts, which is 1 or more. */
    struct vv_offer (*offer)(const struct vv_drafter *drafter, uint32_t most);
    /* Fills drafts [count], of at most as many as were offered. */
    int (*propose)(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                   struct vv_error *error);
    void (*free)(struct vv_drafter *drafter);
};

struct vv_drafter {
    const struct vv_drafter_calls *calls;
};

/* The model's own draft block, for a slot of a session that was opened with `mtp`. The text's last
 * token is the one that the slot does not hold yet. NULL: no memory. */
struct vv_drafter *vv_mtp_drafter(struct vv_session *session, uint32_t slot);

/* What followed the longest end of the text that stood earlier in it. NULL: no memory. */
struct vv_drafter *vv_suffix_drafter(void);
