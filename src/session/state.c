#include "session/state.h"
#include "session/internal.h"

size_t vv_state_live(const struct vv_state_part *part, size_t length, size_t *first) {
    size_t counted = length > part->lag ? length - part->lag : 0;
    *first = 0;
    switch (part->kind) {
    case VV_STATE_FIXED:
        return length > 0;
    case VV_STATE_RING:
        *first = counted > part->history ? counted - part->history : 0;
        return counted - *first;
    default:
        return counted / part->every;
    }
}

/* The entries of a part that belong to an extent. */
static size_t entries(const struct vv_state_part *part, struct vv_extent extent, size_t *first) {
    size_t count = vv_state_live(part, extent.to, first), unused;
    if (part->kind == VV_STATE_ROWS ? extent.kind == VV_EXTENT_MOVING
                                    : extent.kind == VV_EXTENT_GROWN) {
        return 0;
    }
    if (extent.kind == VV_EXTENT_GROWN) {
        *first = vv_state_live(part, extent.from, &unused);
        count -= *first;
    }
    return count;
}

static size_t entry_bytes(const struct vv_state_part *part) {
    return vv_state_entry_bytes(part->type, part->width);
}

size_t vv_extent_bytes(const struct vv_state_part *parts, size_t count, struct vv_extent extent) {
    size_t bytes = 0, first;
    for (size_t i = 0; i < count; i++) {
        bytes += entries(&parts[i], extent, &first) * entry_bytes(&parts[i]);
    }
    return bytes;
}

/* How many of the entries from `first` on lie evenly on the device: a ring begins again. */
static size_t run_of(const struct vv_state_view *view, size_t first, size_t count) {
    size_t left = view->ring ? view->ring - first % view->ring : count;
    return left < count ? left : count;
}

/* Between a slot and another place: `to` or `from` is a slot, or bytes that lie close together. */
struct side {
    bool slot;
    uint32_t number;
    uint8_t *at;
};

static void *place(const struct side *side, const struct vv_state_view *view, size_t first) {
    return side->slot ? vv_state_at(view, (int32_t)side->number, (int64_t)first) : side->at;
}

static void move(const struct vv_session *s, struct side to, struct side from,
                 struct vv_extent extent) {
    for (size_t i = 0; i < s->part_count; i++) {
        const struct vv_state_view *view = &s->views[i];
        size_t bytes = entry_bytes(&s->parts[i]), first;
        size_t left = entries(&s->parts[i], extent, &first);
        while (left > 0) {
            size_t count = run_of(view, first, left);
            s->device->calls->copy(s->device, place(&to, view, first),
                                   to.slot ? view->entry_stride : bytes, place(&from, view, first),
                                   from.slot ? view->entry_stride : bytes, bytes, count);
            to.at = to.slot ? NULL : to.at + count * bytes;
            from.at = from.slot ? NULL : from.at + count * bytes;
            first += count;
            left -= count;
        }
    }
}

void vv_extent_read(const struct vv_session *s, uint32_t slot, struct vv_extent extent,
                    uint8_t *to) {
    move(s, (struct side){.at = to}, (struct side){.slot = true, .number = slot}, extent);
}

void vv_extent_write(const struct vv_session *s, uint32_t slot, struct vv_extent extent,
                     const uint8_t *from) {
    move(s, (struct side){.slot = true, .number = slot},
         (struct side){.at = (uint8_t *)(uintptr_t)from}, extent);
}

void vv_extent_copy(const struct vv_session *s, uint32_t from, uint32_t to,
                    struct vv_extent extent) {
    move(s, (struct side){.slot = true, .number = to}, (struct side){.slot = true, .number = from},
         extent);
}

void vv_extents_settle(const struct vv_session *s) {
    vv_device_settle(s->device);
}

size_t vv_session_state(const struct vv_session *s, uint32_t slot, void *out, size_t room) {
    struct vv_extent all = {VV_EXTENT_ALL, 0, s->slots[slot].has.length};
    size_t bytes = vv_extent_bytes(s->parts, s->part_count, all);
    if (out && bytes <= room) {
        vv_extent_read(s, slot, all, out);
        vv_extents_settle(s);
    }
    return bytes;
}
