#include "text/jinja/marked.h"

#include "text/utf8.h"

#include <string.h>

struct vv_buffer *vv_buffer_new(struct vv_arena *arena, size_t room, struct vv_error *error) {
    struct vv_buffer *buffer = vv_arena_take(arena, 1, sizeof *buffer, error);
    char *bytes = buffer ? vv_arena_take(arena, room ? room : 1, 1, error) : NULL;
    struct vv_mark *marks = bytes ? vv_arena_take(arena, 1, sizeof *marks, error) : NULL;
    if (!marks) {
        return NULL;
    }
    *buffer = (struct vv_buffer){
        .arena = arena, .bytes = bytes, .capacity = room, .marks = marks, .mark_capacity = 1};
    return buffer;
}

int vv_buffer_add(struct vv_buffer *buffer, const char *bytes, size_t length, bool data,
                  struct vv_error *error) {
    if (length == 0) {
        return VV_OK;
    }
    bool more = buffer->mark_count > 0 && buffer->marks[buffer->mark_count - 1].data == data;
    int status = vv_arena_grow(buffer->arena, &buffer->bytes, buffer->used, &buffer->capacity,
                               buffer->used + length, 1, error);
    if (status == VV_OK && !more) {
        status =
            vv_arena_grow(buffer->arena, &buffer->marks, buffer->mark_count, &buffer->mark_capacity,
                          buffer->mark_count + 1, sizeof *buffer->marks, error);
    }
    if (status != VV_OK) {
        return status;
    }
    memcpy(buffer->bytes + buffer->used, bytes, length);
    buffer->used += length;
    buffer->mark_count += more ? 0 : 1;
    buffer->marks[buffer->mark_count - 1] = (struct vv_mark){buffer->used, data};
    return VV_OK;
}

int vv_buffer_add_character(struct vv_buffer *buffer, uint32_t character, bool data,
                            struct vv_error *error) {
    char bytes[4];
    size_t length = vv_utf8_write(character, bytes);
    return vv_buffer_add(buffer, bytes, length, data, error);
}

int vv_buffer_add_part(struct vv_buffer *buffer, const struct vv_marked *text, size_t start,
                       size_t length, struct vv_error *error) {
    int status = VV_OK;
    for (size_t at = start, end; status == VV_OK && at < start + length; at = end) {
        bool data = vv_marked_origin(text, at, &end);
        end = end > start + length ? start + length : end;
        status = vv_buffer_add(buffer, vv_marked_bytes(text) + at, end - at, data, error);
    }
    return status;
}

int vv_buffer_add_marked(struct vv_buffer *buffer, const struct vv_marked *text,
                         struct vv_error *error) {
    return vv_buffer_add_part(buffer, text, 0, text->length, error);
}

struct vv_buffer *vv_buffer_after(struct vv_arena *arena, const struct vv_marked *text,
                                  size_t *start, struct vv_error *error) {
    if (text->buffer->arena == arena && text->start + text->length == text->buffer->used) {
        *start = text->start;
        return text->buffer;
    }
    struct vv_buffer *copy = vv_buffer_new(arena, text->length, error);
    *start = 0;
    return copy && vv_buffer_add_marked(copy, text, error) == VV_OK ? copy : NULL;
}

static struct vv_marked *make(struct vv_arena *arena, struct vv_marked text,
                              struct vv_error *error) {
    struct vv_marked *made = vv_arena_take(arena, 1, sizeof *made, error);
    if (made) {
        *made = text;
    }
    return made;
}

struct vv_marked *vv_buffer_text(struct vv_arena *arena, struct vv_buffer *buffer, size_t start,
                                 const struct vv_marked *head, struct vv_error *error) {
    size_t length = buffer->used - start, known = head ? head->length : 0;
    size_t rest = vv_count_characters(buffer->bytes + start + known, length - known);
    return make(arena,
                (struct vv_marked){buffer, start, length, rest + (head ? head->characters : 0)},
                error);
}

struct vv_marked *vv_marked_new(struct vv_arena *arena, struct vv_text text, bool data,
                                struct vv_error *error) {
    struct vv_buffer *buffer = vv_buffer_new(arena, text.length, error);
    if (!buffer || vv_buffer_add(buffer, text.at, text.length, data, error) != VV_OK) {
        return NULL;
    }
    buffer->arena = NULL;
    return vv_buffer_text(arena, buffer, 0, NULL, error);
}

struct vv_marked *vv_marked_part(struct vv_arena *arena, const struct vv_marked *text, size_t start,
                                 size_t length, struct vv_error *error) {
    bool narrow = text->characters == text->length; /* one byte a character */
    const char *bytes = vv_marked_bytes(text) + start;
    struct vv_marked part = {text->buffer, text->start + start, length,
                             narrow ? length : vv_count_characters(bytes, length)};
    return make(arena, part, error);
}

bool vv_marked_origin(const struct vv_marked *text, size_t at, size_t *end) {
    const struct vv_mark *marks = text->buffer->marks;
    size_t low = 0, high = text->buffer->mark_count - 1, place = text->start + at;
    while (low < high) { /* the first stretch that ends behind `place` */
        size_t middle = low + (high - low) / 2;
        if (marks[middle].end > place) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *end = marks[low].end - text->start;
    *end = *end > text->length ? text->length : *end;
    return marks[low].data;
}

bool vv_marked_any_data(const struct vv_marked *text) {
    bool data = false;
    for (size_t at = 0; at < text->length && !data;) {
        data = vv_marked_origin(text, at, &at);
    }
    return data;
}

size_t vv_marked_offset(const struct vv_marked *text, size_t index) {
    const char *bytes = vv_marked_bytes(text);
    if (text->characters == text->length || index == 0) {
        return index;
    }
    if (index == text->characters) {
        return text->length;
    }
    size_t at = 0;
    for (size_t seen = 0; seen <= index; at++) { /* one too far: to the lead byte's right */
        seen += (bytes[at] & 0xc0) != 0x80;
    }
    return at - 1;
}

size_t vv_count_characters(const char *bytes, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += (bytes[i] & 0xc0) != 0x80;
    }
    return count;
}
