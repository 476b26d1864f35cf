/*
 * Text that knows where it comes from: each stretch of it is the template's own, or was in the data
 * that the template was given. Whatever is done to such a text keeps the marks, so a rendering can
 * tell a control token that the template wrote from the same letters in a person's message.
 *
 * A text is a part of a buffer that others may share. It never changes; but a buffer that ends
 * where the text ends can grow behind it, so that appending again and again takes linear time.
 */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "text/jinja/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_mark {
    size_t end; /* of the stretch; it begins where the one before ends */
    bool data;
};

struct vv_buffer {
    struct vv_arena *arena; /* for growing; NULL: it stays as it is */
    char *bytes;            /* well-formed UTF-8 */
    size_t used, capacity;
    struct vv_mark *marks; /* neighbours differ; the last ends at `used` */
    size_t mark_count, mark_capacity;
};

struct vv_marked {
    struct vv_buffer *buffer;
    size_t start, length; /* bytes */
    size_t characters;
};

static inline const char *vv_marked_bytes(const struct vv_marked *text) {
    return text->buffer->bytes + text->start;
}

static inline struct vv_text vv_marked_text(const struct vv_marked *text) {
    return (struct vv_text){vv_marked_bytes(text), text->length};
}

/* An empty buffer with room for `room` bytes; NULL fills the error, as everywhere below. */
struct vv_buffer *vv_buffer_new(struct vv_arena *arena, size_t room, struct vv_error *error);

/* Appends well-formed text. */
int vv_buffer_add(struct vv_buffer *buffer, const char *bytes, size_t length, bool data,
                  struct vv_error *error);
int vv_buffer_add_character(struct vv_buffer *buffer, uint32_t character, bool data,
                            struct vv_error *error);

/* Appends `length` bytes of a text from `start` on, with their marks. */
int vv_buffer_add_part(struct vv_buffer *buffer, const struct vv_marked *text, size_t start,
                       size_t length, struct vv_error *error);
int vv_buffer_add_marked(struct vv_buffer *buffer, const struct vv_marked *text,
                         struct vv_error *error);

/*
 * A buffer that ends with `text`, to be appended to: the text's own if that is possible, or a copy.
 * `*start` is where the text begins in it.
 */
struct vv_buffer *vv_buffer_after(struct vv_arena *arena, const struct vv_marked *text,
                                  size_t *start, struct vv_error *error);

/*
 * What a buffer holds from `start` on. `head` is the text that this begins with, so that its
 * characters are not counted again, or NULL.
 */
struct vv_marked *vv_buffer_text(struct vv_arena *arena, struct vv_buffer *buffer, size_t start,
                                 const struct vv_marked *head, struct vv_error *error);

/* A copy of well-formed bytes, all of one origin. */
struct vv_marked *vv_marked_new(struct vv_arena *arena, struct vv_text text, bool data,
                                struct vv_error *error);

/* A part of a text, which shares its buffer. */
struct vv_marked *vv_marked_part(struct vv_arena *arena, const struct vv_marked *text, size_t start,
                                 size_t length, struct vv_error *error);

/* The origin of the byte at `at` (below the length), and where the stretch with it ends. */
bool vv_marked_origin(const struct vv_marked *text, size_t at, size_t *end);

/* Whether any of it comes from the data. */
bool vv_marked_any_data(const struct vv_marked *text);

/* Where character number `index` (at most `characters`) begins. */
size_t vv_marked_offset(const struct vv_marked *text, size_t index);

/* Characters of well-formed text. */
size_t vv_count_characters(const char *bytes, size_t length);
