/* Slots into session files and back. */
#include "base/checksum.h"
#include "gguf/types.h"
#include "session/identity.h"
#include "session/internal.h"
#include "session/saved.h"
#include "session/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a file is bound to ---- */

static uint64_t sum_parts(const struct vv_session *s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->part_count; i++) {
        const struct vv_state_part *p = &s->parts[i];
        const uint64_t facts[] = {(uint64_t)p->kind, (uint64_t)p->type, p->width,
                                  p->every,          p->history,        p->lag};
        sum = vv_checksum(p->name, strlen(p->name), sum);
        sum = vv_checksum(facts, sizeof facts, sum);
    }
    return sum;
}

static int find_origin(struct vv_session *s, struct vv_saved_origin *origin,
                       struct vv_error *error) {
    if (!s->identified && vv_has_checksum()) {
        int code = vv_identify(s->file, s->family->architecture, &s->identity, error);
        if (code != VV_OK) {
            return code;
        }
        s->identified = true;
    }
    *origin = (struct vv_saved_origin){
        .geometry = s->identity.geometry,
        .weights = s->identity.weights,
        .parts = sum_parts(s),
        .half_kv = s->options.kv_type == VV_TYPE_F16,
        .draft_block = s->options.mtp,
        .float_activations = s->options.float_activations,
        .rounded_cache = s->options.rounded_cache,
        .index_score = (uint32_t)s->options.index_score,
        .page_tokens = VV_PAGE_TOKENS,
    };
    return VV_OK;
}

/* ---- saving ---- */

static int save_extent(const struct vv_session *s, uint32_t slot, struct vv_saving *saving,
                       enum vv_saved_kind kind, struct vv_extent extent, uint8_t *buffer,
                       struct vv_error *error) {
    vv_extent_read(s, slot, extent, buffer);
    vv_extents_settle(s);
    return vv_saving_block(saving, kind, extent.to, buffer,
                           vv_extent_bytes(s->parts, s->part_count, extent), error);
}

static int save_pages(const struct vv_session *s, uint32_t slot, struct vv_saving *saving,
                      uint8_t *buffer, struct vv_error *error) {
    size_t length = s->slots[slot].has.length;
    int code = VV_OK;
    for (size_t from = 0; code == VV_OK && from < length; from += VV_PAGE_TOKENS) {
        size_t to = length - from > VV_PAGE_TOKENS ? from + VV_PAGE_TOKENS : length;
        code = save_extent(s, slot, saving, VV_SAVED_PAGE,
                           (struct vv_extent){VV_EXTENT_GROWN, from, to}, buffer, error);
    }
    return code;
}

/* Checkpoints before the end. */
static size_t marks_before_end(const struct vv_sequence *has) {
    size_t count = has->marks.count;
    return count > 0 && has->marks.at[count - 1]->position == has->length ? count - 1 : count;
}

/* The checkpoints, the end's own last. */
static int save_marks(const struct vv_session *s, uint32_t slot, struct vv_saving *saving,
                      uint8_t *buffer, struct vv_error *error) {
    const struct vv_sequence *has = &s->slots[slot].has;
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < marks_before_end(has); i++) {
        const struct vv_block *mark = has->marks.at[i];
        code =
            vv_saving_block(saving, VV_SAVED_MARK, mark->position, mark->data, mark->bytes, error);
    }
    if (code == VV_OK && has->length > 0) {
        code = save_extent(s, slot, saving, VV_SAVED_MARK,
                           (struct vv_extent){VV_EXTENT_MOVING, 0, has->length}, buffer, error);
    }
    return code;
}

/* Bytes of the largest block that a sequence has. */
static size_t largest(const struct vv_session *s) {
    struct vv_extent page = {VV_EXTENT_GROWN, 0, VV_PAGE_TOKENS};
    /* lagging parts have an entry more in every page but the first */
    size_t pages = 2 * vv_extent_bytes(s->parts, s->part_count, page);
    size_t mark = vv_session_mark_bytes(s);
    return (pages > mark ? pages : mark) + 1;
}

static int save_all(struct vv_session *s, uint32_t slot, struct vv_saving *saving, const void *note,
                    size_t note_bytes, uint8_t *buffer, struct vv_error *error) {
    const struct vv_sequence *has = &s->slots[slot].has;
    int code = vv_saving_block(saving, VV_SAVED_TOKENS, 0, has->tokens,
                               has->length * sizeof *has->tokens, error);
    code =
        code == VV_OK ? vv_saving_block(saving, VV_SAVED_NOTE, 0, note, note_bytes, error) : code;
    code = code == VV_OK ? save_pages(s, slot, saving, buffer, error) : code;
    return code == VV_OK ? save_marks(s, slot, saving, buffer, error) : code;
}

int vv_session_save(struct vv_session *s, uint32_t slot, const char *path, const void *note,
                    size_t note_bytes, struct vv_error *error) {
    struct vv_saved_origin origin;
    struct vv_saving *saving = NULL;
    int code = vv_session_check_slot(s, slot, error);
    code = code == VV_OK ? find_origin(s, &origin, error) : code;
    if (code != VV_OK) {
        return code;
    }
    const struct vv_sequence *has = &s->slots[slot].has;
    struct vv_saved_counts counts = {.tokens = has->length,
                                     .note_bytes = note_bytes,
                                     .marks =
                                         (uint32_t)(marks_before_end(has) + (has->length > 0))};
    uint8_t *buffer = malloc(largest(s));
    if (!buffer) {
        return vv_fail_memory(error, largest(s), "writing a session file");
    }
    code = vv_saving_open(path, &origin, &counts, &saving, error);
    if (code == VV_OK) {
        code = save_all(s, slot, saving, note, note_bytes, buffer, error);
        if (code == VV_OK) {
            code = vv_saving_finish(saving, error);
        } else {
            vv_saving_abandon(saving);
        }
    }
    free(buffer);
    return code;
}

/* ---- loading ---- */

static int check_tokens(const struct vv_session *s, const struct vv_file *file,
                        const int32_t *tokens, size_t count, struct vv_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || (size_t)tokens[i] >= s->facts.vocabulary) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "%s has token %d, which the model has not: nothing of it can be used",
                           vv_path_tail(file->path), tokens[i]);
        }
    }
    return VV_OK;
}

static int load_note(const struct vv_saved_block *block, struct vv_note *note,
                     struct vv_error *error) {
    note->text = malloc(block->size + 1);
    if (!note->text) {
        return vv_fail_memory(error, block->size, "a session's note");
    }
    if (block->size > 0) {
        memcpy(note->text, block->bytes, block->size);
    }
    note->text[block->size] = 0;
    note->length = block->size;
    return VV_OK;
}

/* A checkpoint, where there is room for it; the end's is the slot's own state, too. */
static void load_mark(struct vv_session *s, uint32_t slot, const struct vv_saved_block *block) {
    struct vv_sequence *has = &s->slots[slot].has;
    if (block->position == has->length) {
        vv_extent_write(s, slot, (struct vv_extent){VV_EXTENT_MOVING, 0, has->length},
                        block->bytes);
        vv_extents_settle(s);
    }
    struct vv_block *mark = vv_session_room_for_mark(s, block->position, block->size);
    if (mark) {
        memcpy(mark->data, block->bytes, block->size);
        vv_blocks_add(&s->store, &has->marks, mark);
        s->slots[slot].marked = block->position;
    }
}

static int load_block(struct vv_session *s, uint32_t slot, const struct vv_file *file,
                      const struct vv_saved_block *block, size_t *from, struct vv_note *note,
                      struct vv_error *error) {
    struct vv_sequence *has = &s->slots[slot].has;
    switch (block->kind) {
    case VV_SAVED_TOKENS:
        if (block->size > 0) {
            memcpy(has->tokens, block->bytes, block->size);
        }
        has->length = block->size / sizeof *has->tokens;
        return check_tokens(s, file, has->tokens, has->length, error);
    case VV_SAVED_NOTE:
        return load_note(block, note, error);
    case VV_SAVED_PAGE:
        vv_extent_write(s, slot, (struct vv_extent){VV_EXTENT_GROWN, *from, block->position},
                        block->bytes);
        vv_extents_settle(s);
        *from = block->position;
        return VV_OK;
    case VV_SAVED_MARK:
        load_mark(s, slot, block);
        return VV_OK;
    default:
        return VV_OK;
    }
}

static int load_all(struct vv_session *s, uint32_t slot, const struct vv_file *file,
                    struct vv_saved *saved, struct vv_note *note, struct vv_error *error) {
    struct vv_saved_block block;
    size_t from = 0;
    int code;
    vv_session_clear(s, slot);
    do {
        code = vv_saved_next(saved, &block, error);
        code = code == VV_OK ? load_block(s, slot, file, &block, &from, note, error) : code;
    } while (code == VV_OK && block.kind != VV_SAVED_END);
    if (code != VV_OK) {
        vv_session_clear(s, slot);
        free(note->text);
        *note = (struct vv_note){0};
    }
    return code;
}

int vv_session_load(struct vv_session *s, uint32_t slot, const char *path, struct vv_note *note,
                    struct vv_error *error) {
    struct vv_saved_expected expected = {
        .parts = s->parts, .part_count = s->part_count, .context = s->options.context};
    struct vv_file file;
    struct vv_saved *saved;
    struct vv_note loaded = {0};
    int code = vv_session_check_slot(s, slot, error);
    code = code == VV_OK ? vv_file_open(path, &file, error) : code;
    if (code != VV_OK) {
        return code;
    }
    code = find_origin(s, &expected.origin, error);
    code = code == VV_OK ? vv_saved_open(&file, &expected, &saved, error) : code;
    if (code == VV_OK) {
        code = load_all(s, slot, &file, saved, &loaded, error);
        vv_saved_close(saved);
    }
    vv_file_close(&file);
    if (code == VV_OK) {
        *note = loaded;
    }
    return code;
}
