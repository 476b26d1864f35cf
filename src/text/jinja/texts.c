#include "text/jinja/builtins.h"
#include "text/letter.h"
#include "text/utf8.h"

#include <string.h>

/* ---- strip ---- */

/* Whether the character that `text` has at `at` [length] is to be stripped: white space, or one of
 * `set`. */
static bool is_stripped(const struct vv_marked *text, size_t at, size_t length,
                        const struct vv_marked *set) {
    const char *character = vv_marked_bytes(text) + at;
    size_t begin = 0;
    if (!set) {
        return vv_is_space(vv_utf8_next(character, &begin));
    }
    /* Well-formed text holds a character where it holds its bytes. */
    return memmem(vv_marked_bytes(set), set->length, character, length) != NULL;
}

static int strip(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool left, bool right,
                 struct vv_value *out) {
    const struct vv_marked *text, *set = NULL;
    const struct vv_value *characters = &call->values[1];
    int status = vv_jinja_text(run, &call->values[0], &text);
    if (status == VV_OK && vv_is_given(characters) && characters->type != VV_VALUE_NONE) {
        status = vv_jinja_want_text(run, characters, &set);
    }
    if (status != VV_OK) {
        return status;
    }
    const char *bytes = vv_marked_bytes(text);
    size_t begin = 0, end = text->length;
    while (left && begin < end) {
        size_t length = vv_utf8_length(bytes + begin, end - begin);
        if (!is_stripped(text, begin, length, set)) {
            break;
        }
        begin += length;
    }
    while (right && begin < end) {
        size_t last = end - 1;
        while ((bytes[last] & 0xc0) == 0x80) {
            last--;
        }
        if (!is_stripped(text, last, end - last, set)) {
            break;
        }
        end = last;
    }
    status = set ? vv_jinja_charge_bytes(run, (text->length - (end - begin)) * (set->length + 1))
                 : VV_OK;
    return status == VV_OK ? vv_jinja_part(run, text, begin, end - begin, out) : status;
}

int vv_jinja_strip(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    return strip(run, call, true, true, out);
}

int vv_jinja_strip_left(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return strip(run, call, true, false, out);
}

int vv_jinja_strip_right(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    return strip(run, call, false, true, out);
}

/* ---- replace ---- */

/* An empty `old` is in front of every character and at the end. */
static int replace_nothing(struct vv_jinja_run *run, const struct vv_marked *text,
                           const struct vv_marked *new, uint64_t most, struct vv_buffer *buffer) {
    int status = VV_OK;
    size_t at = 0;
    for (uint64_t i = 0; status == VV_OK && i < most && i <= text->characters; i++) {
        status = vv_buffer_add_marked(buffer, new, run->error);
        if (status == VV_OK && at < text->length) {
            size_t length = vv_utf8_length(vv_marked_bytes(text) + at, text->length - at);
            status = vv_buffer_add_part(buffer, text, at, length, run->error);
            at += length;
        }
    }
    return status == VV_OK ? vv_buffer_add_part(buffer, text, at, text->length - at, run->error)
                           : status;
}

static int replace(struct vv_jinja_run *run, const struct vv_marked *text,
                   const struct vv_marked *old, const struct vv_marked *new, uint64_t most,
                   struct vv_buffer *buffer) {
    const char *bytes = vv_marked_bytes(text);
    size_t at = 0;
    int status = VV_OK;
    for (uint64_t i = 0; status == VV_OK && i < most; i++) {
        const char *found =
            memmem(bytes + at, text->length - at, vv_marked_bytes(old), old->length);
        if (!found) {
            break;
        }
        size_t begin = (size_t)(found - bytes);
        status = vv_buffer_add_part(buffer, text, at, begin - at, run->error);
        status = status == VV_OK ? vv_buffer_add_marked(buffer, new, run->error) : status;
        at = begin + old->length;
    }
    return status == VV_OK ? vv_buffer_add_part(buffer, text, at, text->length - at, run->error)
                           : status;
}

int vv_jinja_replace(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_marked *text, *old, *new;
    int64_t count = -1;
    int status = vv_jinja_text(run, &call->values[0], &text);
    status = status == VV_OK ? vv_jinja_text(run, &call->values[1], &old) : status;
    status = status == VV_OK ? vv_jinja_text(run, &call->values[2], &new) : status;
    if (status == VV_OK && call->values[3].type != VV_VALUE_NONE) {
        status = vv_jinja_want_integer(run, &call->values[3], -1, &count);
    }
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, text->length) : NULL;
    if (!buffer) {
        return run->error->code;
    }
    uint64_t most = count < 0 ? UINT64_MAX : (uint64_t)count;
    status = old->length > 0 ? replace(run, text, old, new, most, buffer)
                             : replace_nothing(run, text, new, most, buffer);
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

/* ---- join ---- */

static int join(struct vv_jinja_run *run, const struct vv_marked *between,
                const struct vv_value *items, size_t count, bool texts_only,
                const struct vv_value *attribute, struct vv_value *out) {
    struct vv_buffer *buffer = vv_jinja_buffer(run, 0);
    int status = buffer ? VV_OK : run->error->code;
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        struct vv_value item = items[i];
        status = i > 0 ? vv_buffer_add_marked(buffer, between, run->error) : VV_OK;
        if (status == VV_OK && texts_only && item.type != VV_VALUE_STRING) {
            return vv_jinja_refuse(run, "only texts can be joined, not %s",
                                   vv_jinja_type_name(&item));
        }
        status = status == VV_OK ? vv_jinja_path(run, &items[i], attribute, NULL, &item) : status;
        status = status == VV_OK ? vv_jinja_print(run, &item, buffer) : status;
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

int vv_jinja_join_filter(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    const struct vv_marked *between;
    const struct vv_value *items;
    struct vv_value empty, d = call->values[1];
    size_t count;
    int status = vv_jinja_own_text(run, "", &empty);
    d = vv_is_given(&d) ? d : empty;
    status = status == VV_OK ? vv_jinja_text(run, &d, &between) : status;
    status = status == VV_OK ? vv_jinja_items(run, &call->values[0], &items, &count) : status;
    return status == VV_OK ? join(run, between, items, count, false, &call->values[2], out)
                           : status;
}

int vv_jinja_join_method(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    const struct vv_value *items, no_attribute = {.type = VV_VALUE_ABSENT};
    size_t count;
    int status = vv_jinja_items(run, &call->values[1], &items, &count);
    return status == VV_OK
               ? join(run, call->values[0].of.text, items, count, true, &no_attribute, out)
               : status;
}

/* ---- escape, wordcount, string ---- */

int vv_jinja_escape(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    static const char special[] = "&<>'\"";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const struct vv_marked *text;
    int status = vv_jinja_text(run, &call->values[0], &text);
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, text->length) : NULL;
    status = buffer ? VV_OK : run->error->code;
    size_t plain = 0, end;
    for (size_t at = 0; status == VV_OK && at < text->length; at++) {
        char c = vv_marked_bytes(text)[at];
        const char *found = c ? strchr(special, c) : NULL;
        if (found) {
            const char *entity = entities[found - special];
            status = vv_buffer_add_part(buffer, text, plain, at - plain, run->error);
            status = status == VV_OK ? vv_buffer_add(buffer, entity, strlen(entity),
                                                     vv_marked_origin(text, at, &end), run->error)
                                     : status;
            plain = at + 1;
        }
    }
    status = status == VV_OK
                 ? vv_buffer_add_part(buffer, text, plain, text->length - plain, run->error)
                 : status;
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

int vv_jinja_count_words(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    const struct vv_marked *text;
    int64_t count = 0;
    bool inside = false;
    int status = vv_jinja_text(run, &call->values[0], &text);
    status = status == VV_OK ? vv_jinja_charge(run, text->length / 4) : status;
    for (size_t at = 0; status == VV_OK && at < text->length;) {
        uint32_t c = vv_utf8_next(vv_marked_bytes(text), &at);
        bool word = vv_is_letter(c) || vv_is_number(c) || c == '_';
        count += word && !inside;
        inside = word;
    }
    *out = vv_value_integer(count, false);
    return status;
}

int vv_jinja_to_text(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_marked *text;
    int status = vv_jinja_text(run, &call->values[0], &text);
    *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return status;
}
