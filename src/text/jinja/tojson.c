#include "text/jinja/builtins.h"
#include "text/jinja/sort.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

/* As json.dumps with these arguments. */
struct writer {
    struct vv_jinja_run *run;
    struct vv_buffer *out;
    bool ascii, sorted;
    const struct vv_marked *step;            /* of indentation; NULL: all in one line */
    const struct vv_marked *between, *colon; /* separators */
    size_t depth;
};

static int write_own(struct writer *w, const char *text, bool data) {
    return vv_buffer_add(w->out, text, strlen(text), data, w->run->error);
}

static int write_value(struct writer *w, const struct vv_value *value);

/* ---- Texts ---- */

/* The escape of the character at *at, which moves behind it; nothing if it stands for itself. */
static void escape_of(const char *bytes, size_t *at, bool ascii, char out[16]) {
    static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    uint32_t c = vv_utf8_next(bytes, at);
    const char *found = c > 0 && c < 0x80 ? strchr(special, (int)c) : NULL;
    out[0] = 0;
    if (found) {
        snprintf(out, 16, "\\%c", letters[found - special]);
    } else if (c < 0x20 || (ascii && c > 0x7e && c < 0x10000)) {
        snprintf(out, 16, "\\u%04x", (unsigned)c);
    } else if (ascii && c >= 0x10000) {
        c -= 0x10000;
        snprintf(out, 16, "\\u%04x\\u%04x", (unsigned)(0xd800 | c >> 10),
                 (unsigned)(0xdc00 | (c & 0x3ff)));
    }
}

static int write_text(struct writer *w, const struct vv_marked *text) {
    const char *bytes = vv_marked_bytes(text);
    bool data = vv_marked_any_data(text);
    int status = write_own(w, "\"", data);
    size_t plain = 0, end;
    for (size_t at = 0; status == VV_OK && at < text->length;) {
        char escape[16];
        size_t begin = at;
        escape_of(bytes, &at, w->ascii, escape);
        if (escape[0]) {
            status = vv_buffer_add_part(w->out, text, plain, begin - plain, w->run->error);
            status = status == VV_OK ? write_own(w, escape, vv_marked_origin(text, begin, &end))
                                     : status;
            plain = at;
        }
    }
    status = status == VV_OK
                 ? vv_buffer_add_part(w->out, text, plain, text->length - plain, w->run->error)
                 : status;
    return status == VV_OK ? write_own(w, "\"", data) : status;
}

/* ---- Arrays and objects ---- */

/* Between parts of data, a separator is data. */
static int write_separator(struct writer *w, const struct vv_marked *text, bool data) {
    return data ? vv_buffer_add(w->out, vv_marked_bytes(text), text->length, true, w->run->error)
                : vv_buffer_add_marked(w->out, text, w->run->error);
}

static int write_line(struct writer *w, bool data) {
    int status = w->step ? write_own(w, "\n", data) : VV_OK;
    for (size_t i = 0; w->step && status == VV_OK && i < w->depth; i++) {
        status = write_separator(w, w->step, data);
    }
    return status == VV_OK ? vv_jinja_charge(w->run, w->step ? w->depth : 0) : status;
}

/* What comes in front of item `index`. */
static int write_gap(struct writer *w, size_t index, bool data) {
    int status = index > 0 ? write_separator(w, w->between, data) : VV_OK;
    return status == VV_OK ? write_line(w, data) : status;
}

static int write_end(struct writer *w, const char *bracket, size_t count, bool data) {
    w->depth--;
    int status = count > 0 ? write_line(w, data) : VV_OK;
    return status == VV_OK ? write_own(w, bracket, data) : status;
}

static int write_array(struct writer *w, const struct vv_value *value) {
    const struct vv_list *list = value->of.list;
    int status = write_own(w, "[", value->data);
    w->depth++;
    for (size_t i = 0; status == VV_OK && i < list->count; i++) {
        status = write_gap(w, i, value->data);
        status = status == VV_OK ? write_value(w, &vv_list_items(list)[i]) : status;
    }
    return status == VV_OK ? write_end(w, "]", list->count, value->data) : status;
}

/* JSON has texts alone for keys. */
static int write_key(struct writer *w, const struct vv_value *key) {
    if (key->type == VV_VALUE_STRING) {
        return write_text(w, key->of.text);
    }
    if (key->type == VV_VALUE_TUPLE) {
        return vv_jinja_refuse(w->run, "a tuple cannot be a key in JSON");
    }
    int status = write_own(w, "\"", key->data);
    status = status == VV_OK ? write_value(w, key) : status;
    return status == VV_OK ? write_own(w, "\"", key->data) : status;
}

struct key_order {
    struct vv_jinja_run *run;
    const struct vv_pair *pairs;
};

static int key_before(void *context, uint32_t a, uint32_t b, bool *before) {
    struct key_order *order = context;
    return vv_jinja_compare(order->run, VV_LESS, &order->pairs[a].key, &order->pairs[b].key,
                            before);
}

/* The order in which the pairs are written, if that is not their own. */
static int order_keys(struct writer *w, const struct vv_dict *dict, uint32_t **out) {
    uint32_t *work = vv_arena_take(&w->run->arena, dict->count, sizeof *work, w->run->error);
    *out = work ? vv_arena_take(&w->run->arena, dict->count, sizeof **out, w->run->error) : NULL;
    struct key_order order = {w->run, dict->pairs};
    return *out ? vv_sort(*out, work, dict->count, key_before, &order) : w->run->error->code;
}

static int write_object(struct writer *w, const struct vv_value *value) {
    const struct vv_dict *dict = value->of.dict;
    uint32_t *order = NULL;
    int status = w->sorted ? order_keys(w, dict, &order) : VV_OK;
    status = status == VV_OK ? write_own(w, "{", value->data) : status;
    w->depth++;
    for (size_t i = 0; status == VV_OK && i < dict->count; i++) {
        const struct vv_pair *pair = &dict->pairs[order ? order[i] : i];
        status = write_gap(w, i, value->data);
        status = status == VV_OK ? write_key(w, &pair->key) : status;
        status = status == VV_OK ? write_separator(w, w->colon, value->data) : status;
        status = status == VV_OK ? write_value(w, &pair->value) : status;
    }
    return status == VV_OK ? write_end(w, "}", dict->count, value->data) : status;
}

/* ---- Values ---- */

static int write_real(struct writer *w, const struct vv_value *value) {
    char text[VV_NUMBER_ROOM];
    double x = value->of.real;
    vv_number_print(x, text);
    bool finite = x - x == 0;
    return write_own(w,
                     finite   ? text
                     : x != x ? "NaN"
                     : x > 0  ? "Infinity"
                              : "-Infinity",
                     value->data);
}

static int write_nested(struct writer *w, const struct vv_value *value) {
    int status = vv_jinja_enter(w->run);
    if (status == VV_OK) {
        status = value->type == VV_VALUE_DICT ? write_object(w, value) : write_array(w, value);
    }
    vv_jinja_leave(w->run);
    return status;
}

static int write_value(struct writer *w, const struct vv_value *value) {
    int status = vv_jinja_charge(w->run, 1);
    if (status != VV_OK) {
        return status;
    }
    switch (value->type) {
    case VV_VALUE_NONE:
        return write_own(w, "null", value->data);
    case VV_VALUE_BOOL:
        return write_own(w, value->of.truth ? "true" : "false", value->data);
    case VV_VALUE_INTEGER:
    case VV_VALUE_BIG:
        return vv_jinja_print(w->run, value, w->out);
    case VV_VALUE_REAL:
        return write_real(w, value);
    case VV_VALUE_STRING:
        return write_text(w, value->of.text);
    case VV_VALUE_LIST:
    case VV_VALUE_TUPLE:
    case VV_VALUE_DICT:
        return write_nested(w, value);
    case VV_VALUE_UNDEFINED:
        return vv_jinja_refuse_undefined(w->run, value);
    default:
        return vv_jinja_refuse(w->run, "%s cannot be written as JSON", vv_jinja_type_name(value));
    }
}

/* ---- Arguments ---- */

static bool is_none(const struct vv_value *value) {
    return !vv_is_given(value) || value->type == VV_VALUE_NONE;
}

/* One step of indentation: a text, or so many blanks. */
static int read_indent(struct writer *w, const struct vv_value *indent) {
    if (is_none(indent) || indent->type == VV_VALUE_STRING) {
        w->step = is_none(indent) ? NULL : indent->of.text;
        return VV_OK;
    }
    int64_t blanks;
    struct vv_value step, blank;
    int status = vv_jinja_want_integer(w->run, indent, 0, &blanks);
    struct vv_value times = vv_value_integer(blanks, false);
    status = status == VV_OK ? vv_jinja_own_text(w->run, " ", &blank) : status;
    status =
        status == VV_OK ? vv_jinja_operate(w->run, VV_MULTIPLY, &blank, &times, &step) : status;
    w->step = step.of.text;
    return status;
}

static int read_separators(struct writer *w, const struct vv_value *separators) {
    struct vv_value own[2];
    const struct vv_value *pair = own;
    int status = vv_jinja_own_text(w->run, w->step ? "," : ", ", &own[0]);
    status = status == VV_OK ? vv_jinja_own_text(w->run, ": ", &own[1]) : status;
    if (status == VV_OK && !is_none(separators)) {
        size_t count;
        status = vv_jinja_items(w->run, separators, &pair, &count);
        if (status == VV_OK && count != 2) {
            return vv_jinja_refuse(w->run, "the separators of JSON are two texts");
        }
    }
    status = status == VV_OK ? vv_jinja_want_text(w->run, &pair[0], &w->between) : status;
    return status == VV_OK ? vv_jinja_want_text(w->run, &pair[1], &w->colon) : status;
}

int vv_jinja_tojson(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    const struct vv_value *ascii = &call->values[1], *sorted = &call->values[4];
    struct writer w = {.run = run,
                       .out = vv_jinja_buffer(run, 256),
                       .ascii = vv_is_given(ascii) && vv_jinja_truth(ascii),
                       .sorted = vv_is_given(sorted) && vv_jinja_truth(sorted)};
    int status = w.out ? read_indent(&w, &call->values[2]) : run->error->code;
    status = status == VV_OK ? read_separators(&w, &call->values[3]) : status;
    status = status == VV_OK ? write_value(&w, &call->values[0]) : status;
    return status == VV_OK ? vv_jinja_finish(run, w.out, out) : status;
}

int vv_jinja_from_json(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    const struct vv_marked *text;
    int status = vv_jinja_want_text(run, &call->values[0], &text);
    status = status == VV_OK ? vv_jinja_charge(run, text->length / 8) : status;
    return status == VV_OK ? vv_value_json(&run->arena, vv_marked_text(text),
                                           vv_marked_any_data(text), out, run->error)
                           : status;
}
