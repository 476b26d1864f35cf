#include "text/jinja/builtins.h"
#include "text/letter.h"
#include "text/utf8.h"

enum style {
    ALL_UPPER,
    ALL_LOWER,
    FIRST,       /* of the text alone */
    AFTER_OTHER, /* of each stretch of letters with case */
    WORDS,       /* of each word, as the filter `title` has them */
};

/* Whether a new word begins behind it, for WORDS. */
static bool parts_words(uint32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || vv_is_space(c);
}

/* The case for a character; *inside: it is not the first of a word. */
static enum vv_case case_of(enum style style, uint32_t c, bool *inside) {
    bool before = *inside;
    switch (style) {
    case ALL_UPPER:
        return VV_UPPER;
    case ALL_LOWER:
        return VV_LOWER;
    case FIRST:
        *inside = true;
        return before ? VV_LOWER : VV_TITLE;
    case AFTER_OTHER:
        *inside = vv_is_cased(c);
        return before ? VV_LOWER : VV_TITLE;
    case WORDS:
        *inside = !parts_words(c);
        return before ? VV_LOWER : VV_UPPER;
    }
    return VV_LOWER;
}

static int change(struct vv_jinja_run *run, const struct vv_value *value, enum style style,
                  struct vv_value *out) {
    const struct vv_marked *text;
    int status = vv_jinja_text(run, value, &text);
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, text->length) : NULL;
    status = buffer ? vv_jinja_charge(run, text->length / 4) : run->error->code;
    bool inside = false, data = false;
    size_t end = 0;
    for (size_t at = 0; status == VV_OK && at < text->length;) {
        uint32_t letters[3];
        data = at < end ? data : vv_marked_origin(text, at, &end);
        uint32_t character = vv_utf8_next(vv_marked_bytes(text), &at);
        size_t count = vv_to_case(case_of(style, character, &inside), character, letters);
        for (size_t i = 0; status == VV_OK && i < count; i++) {
            status = vv_buffer_add_character(buffer, letters[i], data, run->error);
        }
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

int vv_jinja_upper(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    return change(run, &call->values[0], ALL_UPPER, out);
}

int vv_jinja_lower(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    return change(run, &call->values[0], ALL_LOWER, out);
}

int vv_jinja_capitalize(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return change(run, &call->values[0], FIRST, out);
}

int vv_jinja_title(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    return change(run, &call->values[0], AFTER_OTHER, out);
}

int vv_jinja_title_words(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    return change(run, &call->values[0], WORDS, out);
}

int vv_jinja_fold(struct vv_jinja_run *run, const struct vv_value *value, struct vv_value *out) {
    *out = *value;
    return value->type == VV_VALUE_STRING ? change(run, value, ALL_LOWER, out) : VV_OK;
}
