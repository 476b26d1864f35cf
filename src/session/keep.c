/* State that is kept: checkpoints, copies of sequences, and which of them a text goes on from. */
#include "session/internal.h"
#include "session/state.h"

#include <stdlib.h>
#include <string.h>

static struct vv_extent grown(size_t from, size_t to) {
    return (struct vv_extent){VV_EXTENT_GROWN, from, to};
}
static struct vv_extent moving(size_t length) {
    return (struct vv_extent){VV_EXTENT_MOVING, 0, length};
}
static size_t bytes_of(const struct vv_session *s, struct vv_extent extent) {
    return vv_extent_bytes(s->parts, s->part_count, extent);
}

/* ---- slots ---- */

size_t vv_session_length(const struct vv_session *s, uint32_t slot) {
    return s->slots[slot].has.length;
}

const int32_t *vv_session_tokens(const struct vv_session *s, uint32_t slot) {
    return s->slots[slot].has.tokens;
}

/* A slot's sequence is its first `length` tokens from here on; its state is the caller's affair. */
static void cut(struct vv_session *s, uint32_t slot, size_t length) {
    struct slot *state = &s->slots[slot];
    vv_blocks_cut(&s->store, &state->has.marks, length);
    vv_blocks_cut(&s->store, &state->has.pages, length);
    state->has.length = length;
    state->verified = 0;
    const struct vv_block *last = vv_blocks_before(&state->has.marks, length);
    state->marked = last ? last->position : 0;
}

void vv_session_clear(struct vv_session *s, uint32_t slot) {
    cut(s, slot, 0);
}

void vv_session_forget(struct vv_session *s) {
    for (size_t i = 0; i < s->options.slots; i++) {
        vv_sequence_empty(&s->store, &s->slots[i].has);
    }
    vv_store_clear(&s->store);
}

int vv_session_check_slot(const struct vv_session *s, uint32_t slot, struct vv_error *error) {
    return slot < s->options.slots
               ? VV_OK
               : vv_fail(error, VV_ERROR_INVALID, "slot %u is asked for; the session has %u", slot,
                         s->options.slots);
}

/* ---- room ---- */

/* Copies of pages that slots alone own save work when those are kept again, no more: they go before
 * anything else does. */
static void drop_spare_pages(struct vv_session *s) {
    for (size_t i = 0; i < s->options.slots; i++) {
        struct vv_blocks *pages = &s->slots[i].has.pages;
        size_t shared = 0;
        while (shared < pages->count && pages->at[shared]->owners > 1) {
            shared++;
        }
        vv_blocks_cut(&s->store, pages, shared * VV_PAGE_TOKENS);
    }
}

struct vv_block *vv_session_room_for_mark(struct vv_session *s, size_t position, size_t bytes) {
    if (s->store.bytes + bytes > s->store.budget) {
        drop_spare_pages(s);
    }
    return vv_store_make_room(&s->store, bytes, NULL) ? vv_block_new(&s->store, position, bytes)
                                                      : NULL;
}

/* ---- checkpoints ---- */

size_t vv_session_mark_bytes(const struct vv_session *s) {
    return bytes_of(s, moving(s->options.context));
}

int vv_session_checkpoint(struct vv_session *s, uint32_t slot, struct vv_error *error) {
    int code = vv_session_check_slot(s, slot, error);
    if (code != VV_OK) {
        return code;
    }
    struct vv_sequence *has = &s->slots[slot].has;
    const struct vv_block *last = vv_blocks_before(&has->marks, has->length);
    s->slots[slot].marked = has->length;
    if (has->length == 0 || (last && last->position == has->length)) {
        return VV_OK;
    }
    size_t bytes = bytes_of(s, moving(has->length));
    struct vv_block *mark = vv_session_room_for_mark(s, has->length, bytes);
    if (mark) {
        vv_extent_read(s, slot, moving(has->length), mark->data);
        vv_extents_settle(s);
    }
    if (!mark || !vv_blocks_add(&s->store, &has->marks, mark)) {
        return vv_fail(error, VV_ERROR_MEMORY,
                       "there is no room for a checkpoint of %zu bytes: more memory for what is "
                       "kept would give it",
                       bytes);
    }
    vv_marks_thin(&s->store, &has->marks, s->spacing);
    return VV_OK;
}

/* Without memory there is no checkpoint: a text may then be read twice, which is slower, no more.
 */
void vv_session_mark_due(struct vv_session *s, uint32_t slot, size_t ahead) {
    const struct slot *state = &s->slots[slot];
    struct vv_error without;
    if (s->spacing > 0 && state->has.length + ahead >= state->marked + s->spacing) {
        vv_session_checkpoint(s, slot, &without);
    }
}

int vv_session_truncate(struct vv_session *s, uint32_t slot, size_t length,
                        struct vv_error *error) {
    int code = vv_session_check_slot(s, slot, error);
    if (code != VV_OK) {
        return code;
    }
    if (length >= s->slots[slot].has.length) {
        s->slots[slot].verified = 0;
        return VV_OK;
    }
    const struct vv_block *mark = vv_blocks_before(&s->slots[slot].has.marks, length);
    if (mark) {
        vv_extent_write(s, slot, moving(mark->position), mark->data);
        vv_extents_settle(s);
    }
    cut(s, slot, mark ? mark->position : 0);
    return VV_OK;
}

/* ---- copies ---- */

/* Tokens, marks and pages of another sequence up to `length`; its state is in the slot already. */
static int adopt(struct vv_session *s, uint32_t slot, const struct vv_sequence *from, size_t length,
                 struct vv_error *error) {
    struct vv_sequence *has = &s->slots[slot].has;
    memcpy(has->tokens, from->tokens, length * sizeof *has->tokens);
    size_t whole = length / VV_PAGE_TOKENS * VV_PAGE_TOKENS;
    if (!vv_blocks_share(&s->store, &has->marks, &from->marks, length) ||
        !vv_blocks_share(&s->store, &has->pages, &from->pages, whole)) {
        vv_session_clear(s, slot);
        return vv_fail_memory(error, from->marks.count * sizeof(void *), "a list of checkpoints");
    }
    cut(s, slot, length);
    return VV_OK;
}

/* The beginning of another slot's sequence: all of it, or up to a checkpoint. */
static int fork_from(struct vv_session *s, uint32_t from, uint32_t to, size_t length,
                     struct vv_error *error) {
    const struct vv_sequence *has = &s->slots[from].has;
    const struct vv_block *mark = vv_blocks_before(&has->marks, length);
    vv_extent_copy(s, from, to, grown(0, length));
    if (length == has->length) {
        vv_extent_copy(s, from, to, moving(length));
    } else if (mark) {
        vv_extent_write(s, to, moving(mark->position), mark->data);
    }
    vv_extents_settle(s);
    return adopt(s, to, has, length, error);
}

int vv_session_fork(struct vv_session *s, uint32_t from, uint32_t to, struct vv_error *error) {
    int code = vv_session_check_slot(s, from, error);
    code = code == VV_OK ? vv_session_check_slot(s, to, error) : code;
    if (code != VV_OK || from == to) {
        return code;
    }
    return fork_from(s, from, to, s->slots[from].has.length, error);
}

/* Adds page `index` of a slot, which ends at `end`, to a list; false: no memory. */
static bool add_page(struct vv_session *s, uint32_t slot, size_t index, size_t end,
                     struct vv_blocks *pages) {
    struct vv_extent extent = grown(index * VV_PAGE_TOKENS, end);
    struct vv_block *page = vv_block_new(&s->store, end, bytes_of(s, extent));
    bool added = page && vv_blocks_add(&s->store, pages, page);
    if (added) {
        vv_extent_read(s, slot, extent, page->data);
    }
    return added;
}

/* Copies the pages of a slot that have no copy yet. */
static bool copy_pages(struct vv_session *s, uint32_t slot) {
    struct vv_sequence *has = &s->slots[slot].has;
    bool done = true;
    for (size_t i = has->pages.count; i < has->length / VV_PAGE_TOKENS && done; i++) {
        done = add_page(s, slot, i, (i + 1) * VV_PAGE_TOKENS, &has->pages);
    }
    vv_extents_settle(s);
    return done;
}

/* A sequence that holds what the slot holds; NULL: no memory. */
static struct vv_sequence *copy_of(struct vv_session *s, uint32_t slot) {
    const struct vv_sequence *has = &s->slots[slot].has;
    size_t whole = has->length / VV_PAGE_TOKENS;
    struct vv_sequence *copy = calloc(1, sizeof *copy);
    int32_t *tokens = malloc(has->length * sizeof *tokens);
    if (!copy || !tokens) {
        free(copy);
        free(tokens);
        return NULL;
    }
    memcpy(tokens, has->tokens, has->length * sizeof *tokens);
    *copy = (struct vv_sequence){.tokens = tokens, .length = has->length};
    bool done = vv_blocks_share(&s->store, &copy->marks, &has->marks, has->length) &&
                vv_blocks_share(&s->store, &copy->pages, &has->pages, has->length);
    if (done && whole * VV_PAGE_TOKENS < has->length) {
        done = add_page(s, slot, whole, has->length, &copy->pages);
        vv_extents_settle(s);
    }
    if (!done) {
        vv_sequence_empty(&s->store, copy);
        free(tokens);
        free(copy);
        return NULL;
    }
    return copy;
}

int vv_session_keep(struct vv_session *s, uint32_t slot, struct vv_error *error) {
    int code = vv_session_checkpoint(s, slot, error);
    const struct vv_sequence *has = code == VV_OK ? &s->slots[slot].has : NULL;
    if (code != VV_OK || has->length == 0 || has->tokens[0] < 0) {
        return code;
    }
    struct vv_sequence *copy = copy_pages(s, slot) ? copy_of(s, slot) : NULL;
    if (s->store.bytes > s->store.budget) {
        drop_spare_pages(s);
    }
    code = copy ? vv_store_keep(&s->store, copy, error)
                : vv_fail_memory(error, bytes_of(s, grown(0, has->length)),
                                 "a copy of a sequence's state");
    if (code != VV_OK) {
        drop_spare_pages(s);
    }
    return code;
}

/* The beginning of a kept sequence, up to a checkpoint. A page is written whole: what it has beyond
 * that lies beyond the slot's end and is written again before it is read. */
static int restore(struct vv_session *s, uint32_t slot, struct vv_sequence *from, size_t length,
                   struct vv_error *error) {
    const struct vv_block *mark = vv_blocks_before(&from->marks, length);
    for (size_t i = 0; i < from->pages.count && i * VV_PAGE_TOKENS < length; i++) {
        const struct vv_block *page = from->pages.at[i];
        vv_extent_write(s, slot, grown(i * VV_PAGE_TOKENS, page->position), page->data);
    }
    vv_extent_write(s, slot, moving(mark->position), mark->data);
    vv_extents_settle(s);
    from->used = ++s->store.clock;
    return adopt(s, slot, from, length, error);
}

/* ---- where a text goes on ---- */

/* What can be had of the beginning of a text. */
struct candidate {
    size_t held, shared;
    uint32_t slot;            /* whose it is */
    struct vv_sequence *kept; /* or this one's */
};

static void consider(struct candidate *best, const struct vv_sequence *sequence, bool live,
                     const int32_t *tokens, size_t count, struct candidate other) {
    size_t shared = vv_common_tokens(sequence->tokens, sequence->length, tokens, count);
    size_t most = shared < count ? shared : count - 1;
    const struct vv_block *mark = vv_blocks_before(&sequence->marks, most);
    other.held = live && most == sequence->length ? most : mark ? mark->position : 0;
    size_t longest = shared > best->shared ? shared : best->shared;
    if (other.held > best->held) {
        *best = other;
    }
    best->shared = longest;
}

static struct candidate find(const struct vv_session *s, uint32_t slot, const int32_t *tokens,
                             size_t count) {
    struct candidate best = {.slot = slot};
    consider(&best, &s->slots[slot].has, true, tokens, count, (struct candidate){.slot = slot});
    for (uint32_t i = 0; i < s->options.slots; i++) {
        consider(&best, &s->slots[i].has, true, tokens, count, (struct candidate){.slot = i});
    }
    for (size_t i = 0; i < s->store.count; i++) {
        consider(&best, s->store.kept[i], false, tokens, count,
                 (struct candidate){.slot = slot, .kept = s->store.kept[i]});
    }
    return best;
}

int vv_session_resume(struct vv_session *s, uint32_t slot, const int32_t *tokens, size_t count,
                      struct vv_resumed *resumed, struct vv_error *error) {
    int code = vv_session_check_slot(s, slot, error);
    if (code != VV_OK) {
        return code;
    }
    const struct vv_sequence *has = &s->slots[slot].has;
    size_t shared = vv_common_tokens(has->tokens, has->length, tokens, count);
    if (count > 0 && has->length - shared > s->spacing) {
        struct vv_error without;
        vv_session_keep(s, slot, &without); /* if there is no room, its tokens are read again */
    }
    struct candidate best = {.slot = slot};
    if (count > 0) {
        best = find(s, slot, tokens, count);
    }
    *resumed = (struct vv_resumed){best.held, best.shared};
    if (best.kept) {
        return restore(s, slot, best.kept, best.held, error);
    }
    return best.slot == slot ? vv_session_truncate(s, slot, best.held, error)
                             : fork_from(s, best.slot, slot, best.held, error);
}

void vv_session_kept(const struct vv_session *s, struct vv_session_kept *kept) {
    *kept = (struct vv_session_kept){.bytes = s->store.bytes,
                                     .budget = s->store.budget,
                                     .sequences = s->store.count,
                                     .checkpoint_bytes = vv_session_mark_bytes(s),
                                     .spacing = s->spacing};
}
