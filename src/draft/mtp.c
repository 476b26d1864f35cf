/* Drafts by the model's own block. The session keeps that block's state beside the trunk's, and
 * computes its rows of accepted tokens from the trunk's streams (vv_session_commit), so here is
 * nothing to keep but the token that comes first. */
#include "draft/drafter.h"

#include <stdlib.h>

enum { CHAIN_MAX = 8 }; /* the block sees one token ahead; further on it follows its own streams */

struct mtp {
    struct vv_drafter base;
    struct vv_session *session;
    uint32_t slot;
    int32_t token; /* the text's last */
};

static int append(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                  struct vv_error *error) {
    struct mtp *m = (struct mtp *)drafter;
    (void)error;
    if (count > 0) {
        m->token = tokens[count - 1];
    }
    return VV_OK;
}

static void clear(struct vv_drafter *drafter) {
    (void)drafter;
}

static struct vv_offer offer(const struct vv_drafter *drafter, uint32_t most) {
    const struct mtp *m = (const struct mtp *)drafter;
    bool any = vv_session_length(m->session, m->slot) > 0; /* a first token has no streams before */
    return (struct vv_offer){!any ? 0 : most < CHAIN_MAX ? most : CHAIN_MAX, 0};
}

static int propose(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                   struct vv_error *error) {
    struct mtp *m = (struct mtp *)drafter;
    return vv_session_draft(m->session, m->slot, m->token, count, drafts, NULL, error);
}

static void release(struct vv_drafter *drafter) {
    free(drafter);
}

struct vv_drafter *vv_mtp_drafter(struct vv_session *session, uint32_t slot) {
    static const char *const kinds[] = {"mtp"};
    static const struct vv_drafter_calls calls = {.kinds = kinds,
                                                  .kind_count = 1,
                                                  .ready = true,
                                                  .append = append,
                                                  .clear = clear,
                                                  .offer = offer,
                                                  .propose = propose,
                                                  .free = release};
    struct mtp *m = malloc(sizeof *m);
    if (m) {
        *m = (struct mtp){{&calls}, session, slot, 0};
    }
    return m ? &m->base : NULL;
}
