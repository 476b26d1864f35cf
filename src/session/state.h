/*
 * The state of a slot as bytes, in its serial form, whatever the device. It comes in two kinds:
 * what only grows (an entry, once written, stays as long as the tokens before it do), and what
 * moves with the sequence's end (matrices in place, the last entries of rings).
 */
#pragma once
#include "session/session.h"

enum vv_extent_kind {
    VV_EXTENT_GROWN,  /* entries of the growing parts that tokens [from, to) added */
    VV_EXTENT_MOVING, /* the moving parts at length `to` */
    VV_EXTENT_ALL,    /* all parts at length `to`; `from` is 0 */
};
struct vv_extent {
    enum vv_extent_kind kind;
    size_t from, to;
};

/* Live entries of a part in a sequence of `length` tokens: how many, and the first one's index. */
size_t vv_state_live(const struct vv_state_part *part, size_t length, size_t *first);

/* Bytes of an extent in its serial form: for each part in declared order its entries, ascending. */
size_t vv_extent_bytes(const struct vv_state_part *parts, size_t count, struct vv_extent extent);

/* The extent of a slot into bytes, or bytes into it. Neither looks at the slot's length. All copies
 * are done after vv_extents_settle; until then the bytes have to stay. */
void vv_extent_read(const struct vv_session *session, uint32_t slot, struct vv_extent extent,
                    uint8_t *to);
void vv_extent_write(const struct vv_session *session, uint32_t slot, struct vv_extent extent,
                     const uint8_t *from);
/* One slot's extent into another's, within the device. */
void vv_extent_copy(const struct vv_session *session, uint32_t from, uint32_t to,
                    struct vv_extent extent);
void vv_extents_settle(const struct vv_session *session);
