/* Reads session files. */
#include "session/saved.h"
#include "base/checksum.h"
#include "base/compress.h"
#include "session/saved_format.h"
#include "session/state.h"

#include <stdlib.h>
#include <string.h>

struct vv_saved {
    const struct vv_file *file;
    const struct vv_saved_expected *expected;
    struct vv_saved_counts counts;
    uint64_t at;     /* where the next block begins */
    size_t position; /* of the block before, of the same kind */
    uint32_t marks;  /* that came */
    unsigned expected_kind;
    uint8_t *stored, *bytes;
    size_t stored_room, room;
};

static int damaged(const struct vv_saved *s, struct vv_error *error, const char *why) {
    return vv_fail(error, VV_ERROR_INVALID,
                   "%s is damaged at byte %llu: %s; nothing of it can be used",
                   vv_path_tail(s->file->path), (unsigned long long)s->at, why);
}

/* Reads all of `bytes` from where the reader stands, and goes on behind it. */
static int take(struct vv_saved *s, void *to, size_t bytes, struct vv_error *error) {
    size_t got = 0;
    int code = bytes > 0 ? vv_file_read(s->file, s->at, bytes, to, &got, error) : VV_OK;
    if (code == VV_OK && got < bytes) {
        return damaged(s, error, "it ends too early");
    }
    s->at += bytes;
    return code;
}

/* ---- the header ---- */

static int check_origin(const char *path, const struct vv_saved_origin *is,
                        const struct vv_saved_origin *here, struct vv_error *error) {
    const char *why = NULL;
    if (is->geometry != here->geometry) {
        why = "with a model of another geometry";
    } else if (is->weights != here->weights) {
        why = "with other weights of a model of this geometry (another one, or in other formats)";
    } else if (is->half_kv != here->half_kv) {
        why = is->half_kv ? "with keys and values as f16, which are f32 here"
                          : "with keys and values as f32, which are f16 here";
    } else if (is->draft_block != here->draft_block) {
        why = is->draft_block ? "with the draft block's state, which is not kept here"
                              : "without the draft block's state, which is needed here";
    } else if (is->float_activations != here->float_activations) {
        why = "with activations of another kind";
    } else if (is->rounded_cache != here->rounded_cache) {
        why = is->rounded_cache ? "with a cache that is rounded as the model was trained"
                                : "with a cache that is not rounded";
    } else if (is->index_score != here->index_score) {
        why = "with another arithmetic of the index's scores";
    } else if (is->parts != here->parts || is->page_tokens != here->page_tokens) {
        why = "by a varve that keeps the state in other parts";
    }
    return why ? vv_fail(error, VV_ERROR_INVALID,
                         "%s was saved %s: open it with what it was saved with, or begin a new one",
                         vv_path_tail(path), why)
               : VV_OK;
}

static int check_header(struct vv_saved *s, const struct vv_saved_header *h,
                        struct vv_error *error) {
    const char *path = vv_path_tail(s->file->path);
    if (h->version != VV_SAVED_VERSION || h->bytes != sizeof *h) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s is a session file of version %u; this varve reads version %d", path,
                       h->version, VV_SAVED_VERSION);
    }
    if (h->checksum != vv_checksum(h, offsetof(struct vv_saved_header, checksum), 0)) {
        return damaged(s, error, "the header's checksum is another");
    }
    int code = check_origin(s->file->path, &h->origin, &s->expected->origin, error);
    if (code != VV_OK) {
        return code;
    }
    if (h->counts.tokens > s->expected->context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s holds %llu tokens and the context has room for %zu: ask for a larger "
                       "one",
                       path, (unsigned long long)h->counts.tokens, s->expected->context);
    }
    if (h->counts.note_bytes > VV_SAVED_NOTE_MOST || h->counts.marks > h->counts.tokens ||
        (h->counts.marks == 0) != (h->counts.tokens == 0)) {
        return damaged(s, error, "its counts can't be");
    }
    s->counts = h->counts;
    return VV_OK;
}

int vv_saved_open(const struct vv_file *file, const struct vv_saved_expected *expected,
                  struct vv_saved **saved, struct vv_error *error) {
    struct vv_saved_header header;
    if (!vv_has_checksum()) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s can't be read: this varve was built without xxhash, which session files "
                       "need",
                       vv_path_tail(file->path));
    }
    struct vv_saved *s = calloc(1, sizeof *s);
    if (!s) {
        return vv_fail_memory(error, sizeof *s, "a session file");
    }
    *s = (struct vv_saved){.file = file, .expected = expected};
    size_t got;
    int code = vv_file_read(file, 0, sizeof header, &header, &got, error);
    if (code == VV_OK && (got < sizeof header.magic ||
                          memcmp(header.magic, VV_SAVED_MAGIC, sizeof header.magic) != 0)) {
        code = vv_fail(error, VV_ERROR_INVALID, "%s is no session file of varve",
                       vv_path_tail(file->path));
    } else if (code == VV_OK && got < sizeof header) {
        code = damaged(s, error, "it ends too early");
    }
    code = code == VV_OK ? check_header(s, &header, error) : code;
    if (code != VV_OK) {
        free(s);
        return code;
    }
    s->at = sizeof header;
    *saved = s;
    return VV_OK;
}

void vv_saved_close(struct vv_saved *s) {
    if (s) {
        free(s->stored);
        free(s->bytes);
        free(s);
    }
}

struct vv_saved_counts vv_saved_counts(const struct vv_saved *s) {
    return s->counts;
}

/* ---- blocks ---- */

/* The kind that a block must have, and where it must stand, from what came before it. */
static void step(struct vv_saved *s, struct vv_saved_block *block) {
    size_t tokens = (size_t)s->counts.tokens, page = s->expected->origin.page_tokens;
    if (s->expected_kind == VV_SAVED_PAGE && s->position == tokens) {
        s->expected_kind = VV_SAVED_MARK;
        s->position = 0;
    }
    if (s->expected_kind == VV_SAVED_MARK && s->marks == s->counts.marks) {
        s->expected_kind = VV_SAVED_END;
    }
    block->kind = (enum vv_saved_kind)s->expected_kind;
    if (block->kind == VV_SAVED_PAGE) {
        block->position = tokens - s->position > page ? s->position + page : tokens;
    } else {
        block->position = block->kind == VV_SAVED_END ? (size_t)s->at : 0;
    }
}

/* Bytes of a block, which follow from what it is. */
static size_t size_of(const struct vv_saved *s, const struct vv_saved_block *block) {
    const struct vv_saved_expected *e = s->expected;
    switch (block->kind) {
    case VV_SAVED_TOKENS:
        return (size_t)s->counts.tokens * sizeof(int32_t);
    case VV_SAVED_NOTE:
        return (size_t)s->counts.note_bytes;
    case VV_SAVED_PAGE:
        return vv_extent_bytes(e->parts, e->part_count,
                               (struct vv_extent){VV_EXTENT_GROWN, s->position, block->position});
    case VV_SAVED_MARK:
        return vv_extent_bytes(e->parts, e->part_count,
                               (struct vv_extent){VV_EXTENT_MOVING, 0, block->position});
    default:
        return 0;
    }
}

/* A mark says itself where it is: beyond the one before, the last one at the end. */
static bool place_mark(const struct vv_saved *s, uint64_t position, struct vv_saved_block *block) {
    bool last = s->marks + 1 == s->counts.marks;
    block->position = (size_t)position;
    return position > s->position && position <= s->counts.tokens &&
           last == (position == s->counts.tokens);
}

static bool grow(uint8_t **bytes, size_t *room, size_t size) {
    if (size > *room) {
        free(*bytes);
        *bytes = malloc(size);
        *room = *bytes ? size : 0;
    }
    return size <= *room;
}

static void join_planes(const uint8_t *from, size_t size, uint8_t *to) {
    size_t quarter = size / 4;
    for (size_t i = 0; i < quarter; i++) {
        for (size_t plane = 0; plane < 4; plane++) {
            to[4 * i + plane] = from[plane * quarter + i];
        }
    }
    memcpy(to + 4 * quarter, from + 4 * quarter, size % 4);
}

/* The bytes of a block whose header was checked: read, compared, unpacked. */
static int take_bytes(struct vv_saved *s, const struct vv_saved_block_header *h,
                      struct vv_saved_block *block, struct vv_error *error) {
    size_t size = block->size, stored = (size_t)h->stored;
    bool packed = h->packing == VV_SAVED_ZSTD;
    if (!grow(&s->stored, &s->stored_room, packed ? size : stored) ||
        !grow(&s->bytes, &s->room, size)) {
        return vv_fail_memory(error, size + stored, "reading a session file");
    }
    uint8_t *to = packed ? s->bytes : s->stored;
    int code = take(s, to, stored, error);
    if (code != VV_OK) {
        return code;
    }
    if (h->checksum != vv_saved_checksum(h, to)) {
        return damaged(s, error, "the checksum of the block before is another");
    }
    block->bytes = to;
    if (packed) {
        if (!vv_has_compression()) {
            return vv_fail(error, VV_ERROR_UNSUPPORTED,
                           "%s is packed with zstd, which this varve was built without",
                           vv_path_tail(s->file->path));
        }
        if (!vv_decompress(s->bytes, stored, s->stored, size)) {
            return damaged(s, error, "the block before can't be unpacked");
        }
        join_planes(s->stored, size, s->bytes);
    }
    return VV_OK;
}

int vv_saved_next(struct vv_saved *s, struct vv_saved_block *block, struct vv_error *error) {
    struct vv_saved_block_header h;
    *block = (struct vv_saved_block){0};
    step(s, block);
    int code = take(s, &h, sizeof h, error);
    if (code != VV_OK) {
        return code;
    }
    bool placed = block->kind == VV_SAVED_MARK ? place_mark(s, h.position, block)
                                               : h.position == block->position;
    if (h.kind != (uint32_t)block->kind || !placed) {
        return damaged(s, error, "another block is expected before here");
    }
    block->size = size_of(s, block);
    if (h.size != block->size || h.packing > VV_SAVED_ZSTD || h.stored > s->file->size - s->at ||
        (h.packing == VV_SAVED_PLAIN ? h.stored != h.size : h.stored >= h.size)) {
        return damaged(s, error, "the size of the block here can't be");
    }
    code = take_bytes(s, &h, block, error);
    if (code != VV_OK) {
        return code;
    }
    if (block->kind == VV_SAVED_END && s->at != s->file->size) {
        return damaged(s, error, "there are bytes beyond its end");
    }
    s->marks += block->kind == VV_SAVED_MARK;
    s->position = block->position;
    if (block->kind < VV_SAVED_PAGE) {
        s->expected_kind++;
        s->position = 0;
    }
    return VV_OK;
}
