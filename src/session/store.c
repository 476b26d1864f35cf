#include "session/store.h"

#include <stdlib.h>
#include <string.h>

/* ---- blocks ---- */

struct vv_block *vv_block_new(struct vv_store *store, size_t position, size_t bytes) {
    size_t size = sizeof(struct vv_block) + bytes;
    struct vv_block *block = store->pool ? vv_pool_take(store->pool, size) : NULL;
    block = block ? block : malloc(size);
    if (block) {
        *block = (struct vv_block){.owners = 1, .position = position, .bytes = bytes};
        store->bytes += bytes;
    }
    return block;
}

void vv_block_drop(struct vv_store *store, struct vv_block *block) {
    if (block && --block->owners == 0) {
        store->bytes -= block->bytes;
        if (!store->pool || !vv_pool_give(store->pool, block, sizeof *block + block->bytes)) {
            free(block);
        }
    }
}

static bool make_room(struct vv_blocks *blocks, size_t count) {
    if (count <= blocks->room) {
        return true;
    }
    size_t room = 2 * count;
    struct vv_block **at = realloc(blocks->at, room * sizeof *at);
    if (at) {
        blocks->at = at;
        blocks->room = room;
    }
    return at != NULL;
}

bool vv_blocks_add(struct vv_store *store, struct vv_blocks *blocks, struct vv_block *block) {
    size_t i = blocks->count;
    while (i > 0 && blocks->at[i - 1]->position > block->position) {
        i--;
    }
    if (i > 0 && blocks->at[i - 1]->position == block->position) {
        vv_block_drop(store, blocks->at[i - 1]);
        blocks->at[i - 1] = block;
        return true;
    }
    if (!make_room(blocks, blocks->count + 1)) {
        vv_block_drop(store, block);
        return false;
    }
    memmove(blocks->at + i + 1, blocks->at + i, (blocks->count - i) * sizeof *blocks->at);
    blocks->at[i] = block;
    blocks->count++;
    return true;
}

void vv_blocks_cut(struct vv_store *store, struct vv_blocks *blocks, size_t position) {
    while (blocks->count > 0 && blocks->at[blocks->count - 1]->position > position) {
        vv_block_drop(store, blocks->at[--blocks->count]);
    }
}

bool vv_blocks_share(struct vv_store *store, struct vv_blocks *to, const struct vv_blocks *from,
                     size_t position) {
    vv_blocks_cut(store, to, 0);
    for (size_t i = 0; i < from->count && from->at[i]->position <= position; i++) {
        if (!make_room(to, i + 1)) {
            vv_blocks_cut(store, to, 0);
            return false;
        }
        from->at[i]->owners++;
        to->at[to->count++] = from->at[i];
    }
    return true;
}

void vv_marks_thin(struct vv_store *store, struct vv_blocks *marks, size_t spacing) {
    enum { LAST = 4 };
    for (size_t i = 0; i + LAST < marks->count;) {
        size_t before = i > 0 ? marks->at[i - 1]->position : 0;
        if (marks->at[i + 1]->position - before > spacing) {
            i++;
            continue;
        }
        vv_block_drop(store, marks->at[i]);
        marks->count--;
        memmove(marks->at + i, marks->at + i + 1, (marks->count - i) * sizeof *marks->at);
    }
}

struct vv_block *vv_blocks_before(const struct vv_blocks *blocks, size_t position) {
    struct vv_block *best = NULL;
    for (size_t i = 0; i < blocks->count && blocks->at[i]->position <= position; i++) {
        best = blocks->at[i];
    }
    return best;
}

/* ---- sequences ---- */

void vv_sequence_empty(struct vv_store *store, struct vv_sequence *sequence) {
    vv_blocks_cut(store, &sequence->pages, 0);
    vv_blocks_cut(store, &sequence->marks, 0);
    free(sequence->pages.at);
    free(sequence->marks.at);
    sequence->pages = sequence->marks = (struct vv_blocks){0};
    sequence->length = 0;
}

size_t vv_common_tokens(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count) {
    size_t i = 0, count = a_count < b_count ? a_count : b_count;
    while (i < count && a[i] == b[i]) {
        i++;
    }
    return i;
}

static void free_sequence(struct vv_store *store, struct vv_sequence *sequence) {
    vv_sequence_empty(store, sequence);
    free(sequence->tokens);
    free(sequence);
}

/* Gives `to` the marks of `from` that it lacks. Without memory for the list it goes without. */
static void add_marks(struct vv_store *store, struct vv_sequence *to,
                      const struct vv_sequence *from) {
    for (size_t i = 0; i < from->marks.count; i++) {
        struct vv_block *mark = from->marks.at[i], *own;
        own = vv_blocks_before(&to->marks, mark->position);
        if (!own || own->position != mark->position) {
            mark->owners++;
            vv_blocks_add(store, &to->marks, mark);
        }
    }
}

/* ---- the store ---- */

static void drop(struct vv_store *store, size_t index) {
    free_sequence(store, store->kept[index]);
    store->kept[index] = store->kept[--store->count];
}

static bool begins(const struct vv_sequence *whole, const struct vv_sequence *beginning) {
    return beginning->length <= whole->length &&
           memcmp(beginning->tokens, whole->tokens, beginning->length * sizeof *whole->tokens) == 0;
}

bool vv_store_make_room(struct vv_store *store, uint64_t bytes, const struct vv_sequence *spared) {
    while (store->bytes > store->budget || bytes > store->budget - store->bytes) {
        size_t oldest = store->count;
        for (size_t i = 0; i < store->count; i++) {
            if (store->kept[i] != spared &&
                (oldest == store->count || store->kept[i]->used < store->kept[oldest]->used)) {
                oldest = i;
            }
        }
        if (oldest == store->count) {
            return false;
        }
        drop(store, oldest);
    }
    return true;
}

/* Joins the sequence with those that it goes on from, or with one that goes on from it: whichever
 * is the longest of them, which is in the store if `*joined`. */
static struct vv_sequence *join(struct vv_store *store, struct vv_sequence *sequence,
                                bool *joined) {
    *joined = false;
    for (size_t i = store->count; i-- > 0;) {
        struct vv_sequence *other = store->kept[i];
        if (!*joined && begins(other, sequence)) {
            add_marks(store, other, sequence);
            free_sequence(store, sequence);
            sequence = other;
            *joined = true;
        } else if (other != sequence && begins(sequence, other)) {
            add_marks(store, sequence, other);
            drop(store, i);
        }
    }
    return sequence;
}

int vv_store_keep(struct vv_store *store, struct vv_sequence *sequence, struct vv_error *error) {
    bool joined;
    sequence = join(store, sequence, &joined);
    sequence->used = ++store->clock;
    if (!joined && store->count == store->room) {
        size_t room = 2 * store->room + 8;
        struct vv_sequence **kept = realloc(store->kept, room * sizeof *kept);
        if (!kept) {
            free_sequence(store, sequence);
            return vv_fail_memory(error, room * sizeof *kept, "the list of kept sequences");
        }
        store->kept = kept;
        store->room = room;
    }
    if (!joined) {
        store->kept[store->count++] = sequence;
    }
    if (vv_store_make_room(store, 0, sequence)) {
        return VV_OK;
    }
    size_t length = sequence->length;
    vv_store_make_room(store, 0, NULL);
    return vv_fail(error, VV_ERROR_MEMORY,
                   "a sequence of %zu tokens is not kept: with what slots have, its state is more "
                   "than the %llu MiB that may be kept",
                   length, (unsigned long long)(store->budget >> 20));
}

void vv_store_clear(struct vv_store *store) {
    while (store->count > 0) {
        drop(store, store->count - 1);
    }
    free(store->kept);
    *store = (struct vv_store){.budget = store->budget, .pool = store->pool};
}
