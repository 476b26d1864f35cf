#include "text/jinja/builtins.h"

#include <string.h>

/* ---- indent, truncate ---- */

/* What one step of indentation is: so many blanks, or a text. */
static int indentation(struct vv_jinja_run *run, const struct vv_value *width,
                       const struct vv_marked **out) {
    int64_t blanks;
    if (width->type == VV_VALUE_STRING) {
        *out = width->of.text;
        return VV_OK;
    }
    int status = vv_jinja_want_integer(run, width, 4, &blanks);
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, 4) : NULL;
    status = buffer ? VV_OK : run->error->code;
    for (int64_t i = 0; status == VV_OK && i < blanks; i++) {
        status = vv_buffer_add(buffer, " ", 1, false, run->error);
    }
    struct vv_value text;
    status = status == VV_OK ? vv_jinja_finish(run, buffer, &text) : status;
    *out = text.of.text;
    return status;
}

/* Lines joined with '\n', indented but for the first (unless `first`) and empty ones (unless
 * `blank`). */
static int write_indented(struct vv_jinja_run *run, const struct vv_list *lines,
                          const struct vv_marked *step, bool first, bool blank,
                          struct vv_buffer *buffer) {
    int status = VV_OK;
    for (size_t i = 0; status == VV_OK && i < lines->count; i++) {
        const struct vv_marked *line = vv_list_items(lines)[i].of.text;
        bool indent = i == 0 ? first : blank || line->length > 0;
        status = i > 0 ? vv_buffer_add(buffer, "\n", 1, false, run->error) : VV_OK;
        status =
            status == VV_OK && indent ? vv_buffer_add_marked(buffer, step, run->error) : status;
        status = status == VV_OK ? vv_buffer_add_marked(buffer, line, run->error) : status;
    }
    return status;
}

int vv_jinja_indent(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    const struct vv_value *first = &call->values[2], *blank = &call->values[3];
    const struct vv_marked *text, *step;
    struct vv_value ended, lines, newline, arguments[2];
    int status = vv_jinja_want_text(run, &call->values[0], &text);
    status = status == VV_OK ? indentation(run, &call->values[1], &step) : status;
    /* With a line end behind it, so that a last empty line counts. */
    status = status == VV_OK ? vv_jinja_own_text(run, "\n", &newline) : status;
    status = status == VV_OK ? vv_jinja_operate(run, VV_ADD, &call->values[0], &newline, &ended)
                             : status;
    if (status != VV_OK) {
        return status;
    }
    arguments[0] = ended;
    arguments[1] = (struct vv_value){.type = VV_VALUE_ABSENT};
    status = vv_jinja_split_lines(run, &(struct vv_jinja_call){arguments, 2, NULL, 0}, &lines);
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, text->length) : NULL;
    status = buffer ? write_indented(run, lines.of.list, step,
                                     vv_is_given(first) && vv_jinja_truth(first),
                                     vv_is_given(blank) && vv_jinja_truth(blank), buffer)
                    : run->error->code;
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

/* Where the last blank of a text begins, or its end. */
static size_t last_blank(const struct vv_marked *text, size_t length) {
    const char *bytes = vv_marked_bytes(text);
    const char *blank = length > 0 ? memrchr(bytes, ' ', length) : NULL;
    return blank ? (size_t)(blank - bytes) : length;
}

int vv_jinja_truncate(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    const struct vv_marked *text, *end;
    const struct vv_value *kill = &call->values[2];
    struct vv_value dots;
    int64_t length, leeway;
    size_t whole;
    int status = vv_jinja_own_text(run, "...", &dots);
    status = status == VV_OK ? vv_jinja_want_integer(run, &call->values[1], 255, &length) : status;
    status = status == VV_OK ? vv_jinja_want_integer(run, &call->values[4], 5, &leeway) : status;
    if (status == VV_OK) {
        dots = vv_is_given(&call->values[3]) ? call->values[3] : dots;
        status = vv_jinja_want_text(run, &dots, &end);
    }
    if (status == VV_OK && (leeway < 0 || length < (int64_t)end->characters)) {
        return vv_jinja_refuse(run, "a text cannot be truncated to less than its end");
    }
    int64_t most;
    if (status != VV_OK || __builtin_add_overflow(length, leeway, &most) ||
        (vv_jinja_length(&call->values[0], &whole) && (int64_t)whole <= most)) {
        *out = call->values[0];
        return status;
    }
    status = vv_jinja_want_text(run, &call->values[0], &text);
    if (status != VV_OK) {
        return status;
    }
    size_t cut = vv_marked_offset(text, (size_t)length - end->characters);
    cut = vv_is_given(kill) && vv_jinja_truth(kill) ? cut : last_blank(text, cut);
    struct vv_buffer *buffer = vv_jinja_buffer(run, cut + end->length);
    status = buffer ? vv_buffer_add_part(buffer, text, 0, cut, run->error) : run->error->code;
    status = status == VV_OK ? vv_buffer_add_marked(buffer, end, run->error) : status;
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

/* ---- Padding ---- */

/* The text with `left` and `right` times `fill` around it, of which `sign` bytes stay in front. */
static int pad(struct vv_jinja_run *run, const struct vv_marked *text, size_t sign, int64_t left,
               int64_t right, const struct vv_marked *fill, struct vv_value *out) {
    struct vv_buffer *buffer = vv_jinja_buffer(run, text->length);
    int status = buffer ? vv_buffer_add_part(buffer, text, 0, sign, run->error) : run->error->code;
    for (int64_t i = 0; status == VV_OK && i < left; i++) {
        status = vv_buffer_add_marked(buffer, fill, run->error);
    }
    status = status == VV_OK
                 ? vv_buffer_add_part(buffer, text, sign, text->length - sign, run->error)
                 : status;
    for (int64_t i = 0; status == VV_OK && i < right; i++) {
        status = vv_buffer_add_marked(buffer, fill, run->error);
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

/* Text, what to fill with (" " or `zero` if not given), and how often, 0 or more. */
static int padding(struct vv_jinja_run *run, const struct vv_jinja_call *call, const char *usual,
                   const struct vv_marked **text, const struct vv_marked **fill, int64_t *more) {
    struct vv_value filling = call->values[2], otherwise;
    int64_t width;
    int status = vv_jinja_text(run, &call->values[0], text);
    status = status == VV_OK ? vv_jinja_own_text(run, usual, &otherwise) : status;
    filling = vv_is_given(&filling) ? filling : otherwise;
    status = status == VV_OK ? vv_jinja_want_text(run, &filling, fill) : status;
    status = status == VV_OK ? vv_jinja_want_integer(run, &call->values[1], 80, &width) : status;
    if (status != VV_OK) {
        return status;
    }
    if ((*fill)->characters != 1) {
        return vv_jinja_refuse(run, "a text is filled up with one character");
    }
    int64_t length = (int64_t)(*text)->characters;
    *more = width > length ? width - length : 0;
    return *more > (int64_t)run->limits.output
               ? vv_jinja_refuse(run, "a text is filled up to too great a width")
               : vv_jinja_charge(run, (size_t)*more);
}

int vv_jinja_center(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    const struct vv_marked *text, *fill;
    int64_t more = 0;
    int status = padding(run, call, " ", &text, &fill, &more);
    if (status != VV_OK) {
        return status;
    }
    /* An odd one goes to the left if the width is odd. */
    int64_t left = more / 2 + (more & ((int64_t)text->characters + more) & 1);
    return pad(run, text, 0, left, more - left, fill, out);
}

int vv_jinja_pad_left(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    const struct vv_marked *text, *fill;
    int64_t more = 0;
    int status = padding(run, call, " ", &text, &fill, &more);
    return status == VV_OK ? pad(run, text, 0, more, 0, fill, out) : status;
}

int vv_jinja_pad_right(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    const struct vv_marked *text, *fill;
    int64_t more = 0;
    int status = padding(run, call, " ", &text, &fill, &more);
    return status == VV_OK ? pad(run, text, 0, 0, more, fill, out) : status;
}

int vv_jinja_fill_zeros(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    const struct vv_marked *text, *fill;
    int64_t more = 0;
    int status = padding(run, call, "0", &text, &fill, &more);
    if (status != VV_OK) {
        return status;
    }
    const char *bytes = vv_marked_bytes(text);
    bool sign = text->length > 0 && (bytes[0] == '-' || bytes[0] == '+');
    return pad(run, text, sign, more, 0, fill, out);
}
