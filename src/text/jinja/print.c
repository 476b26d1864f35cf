#include "text/jinja/run.h"
#include "text/letter.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

static int write_own(struct vv_jinja_run *run, const char *text, bool data, struct vv_buffer *out) {
    return vv_buffer_add(out, text, strlen(text), data, run->error);
}

/* ---- Texts in quotes ---- */

/* The escape of a character that repr does not show as it is, or nothing. */
static void escape_of(uint32_t character, char quote, char out[12]) {
    out[0] = 0;
    if (character == (unsigned char)quote || character == '\\') {
        snprintf(out, 12, "\\%c", (char)character);
    } else if (character == '\n' || character == '\r' || character == '\t') {
        snprintf(out, 12, "\\%c", character == '\n' ? 'n' : character == '\r' ? 'r' : 't');
    } else if (!vv_is_printable(character)) {
        const char *format = character < 0x100     ? "\\x%02x"
                             : character < 0x10000 ? "\\u%04x"
                                                   : "\\U%08x";
        snprintf(out, 12, format, (unsigned)character);
    }
}

/* In '…', or in "…" where the text has a ' and no ". */
static int print_quoted(struct vv_jinja_run *run, const struct vv_marked *text,
                        struct vv_buffer *out) {
    const char *bytes = vv_marked_bytes(text);
    bool single = memchr(bytes, '\'', text->length) && !memchr(bytes, '"', text->length);
    char quote[2] = {single ? '"' : '\'', 0}, escape[12];
    bool data = vv_marked_any_data(text);
    int status = write_own(run, quote, data, out);
    size_t plain = 0, at = 0;
    while (status == VV_OK && at < text->length) {
        size_t begin = at, end;
        escape_of(vv_utf8_next(bytes, &at), quote[0], escape);
        if (!escape[0]) {
            continue;
        }
        status = vv_buffer_add_part(out, text, plain, begin - plain, run->error);
        status = status == VV_OK ? write_own(run, escape, vv_marked_origin(text, begin, &end), out)
                                 : status;
        plain = at;
    }
    status =
        status == VV_OK ? vv_buffer_add_part(out, text, plain, at - plain, run->error) : status;
    return status == VV_OK ? write_own(run, quote, data, out) : status;
}

/* ---- Lists and dicts ---- */

static int print_items(struct vv_jinja_run *run, const struct vv_value *list,
                       struct vv_buffer *out) {
    int status = VV_OK;
    size_t count = list->of.list->count;
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        status = i > 0 ? write_own(run, ", ", list->data, out) : VV_OK;
        status = status == VV_OK ? vv_jinja_print_repr(run, &vv_list_items(list->of.list)[i], out)
                                 : status;
    }
    return status;
}

static int print_dict(struct vv_jinja_run *run, const struct vv_value *value,
                      struct vv_buffer *out) {
    const struct vv_dict *dict = value->of.dict;
    int status = write_own(run, "{", value->data, out);
    for (size_t i = 0; status == VV_OK && i < dict->count; i++) {
        status = i > 0 ? write_own(run, ", ", value->data, out) : VV_OK;
        status = status == VV_OK ? vv_jinja_print_repr(run, &dict->pairs[i].key, out) : status;
        status = status == VV_OK ? write_own(run, ": ", value->data, out) : status;
        status = status == VV_OK ? vv_jinja_print_repr(run, &dict->pairs[i].value, out) : status;
    }
    return status == VV_OK ? write_own(run, "}", value->data, out) : status;
}

/* range(0, 3), with the end that its last item gives. */
static int print_range(struct vv_jinja_run *run, const struct vv_list *list,
                       struct vv_buffer *out) {
    char text[100] = "range(0, 0)";
    const struct vv_value *items = vv_list_items(list);
    if (list->count > 0) {
        int64_t first = items[0].of.integer, last = items[list->count - 1].of.integer;
        int64_t step = list->count > 1 ? items[1].of.integer - first : 1;
        int used = snprintf(text, sizeof text, "range(%lld, %lld", (long long)first,
                            (long long)(last + step));
        if (step != 1) {
            used += snprintf(text + used, sizeof text - (size_t)used, ", %lld", (long long)step);
        }
        snprintf(text + used, sizeof text - (size_t)used, ")");
    }
    return write_own(run, text, false, out);
}

static int print_list(struct vv_jinja_run *run, const struct vv_value *value,
                      struct vv_buffer *out) {
    static const char *const brackets[][2] = {
        [VV_VALUE_LIST] = {"[", "]"},
        [VV_VALUE_TUPLE] = {"(", ")"},
        [VV_VALUE_KEYS] = {"dict_keys([", "])"},
        [VV_VALUE_VALUES] = {"dict_values([", "])"},
        [VV_VALUE_ITEMS] = {"dict_items([", "])"},
    };
    if (value->type == VV_VALUE_RANGE) {
        return print_range(run, value->of.list, out);
    }
    bool one = value->type == VV_VALUE_TUPLE && value->of.list->count == 1;
    int status = write_own(run, brackets[value->type][0], value->data, out);
    status = status == VV_OK ? print_items(run, value, out) : status;
    status = status == VV_OK && one ? write_own(run, ",", value->data, out) : status;
    return status == VV_OK ? write_own(run, brackets[value->type][1], value->data, out) : status;
}

static int print_namespace(struct vv_jinja_run *run, const struct vv_jinja_namespace *space,
                           struct vv_buffer *out) {
    int status = write_own(run, "<Namespace {", false, out);
    for (size_t i = 0; status == VV_OK && i < space->members.count; i++) {
        const struct vv_jinja_binding *member = &space->members.at[i];
        struct vv_value name;
        status = i > 0 ? write_own(run, ", ", false, out) : VV_OK;
        const struct vv_marked *text =
            vv_marked_new(&run->arena, member->name, space->data, run->error);
        name = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
        status = status == VV_OK && !text ? run->error->code : status;
        status = status == VV_OK ? vv_jinja_print_repr(run, &name, out) : status;
        status = status == VV_OK ? write_own(run, ": ", false, out) : status;
        status = status == VV_OK ? vv_jinja_print_repr(run, &member->value, out) : status;
    }
    return status == VV_OK ? write_own(run, "}>", false, out) : status;
}

/* ---- All values ---- */

static int print_simple(struct vv_jinja_run *run, const struct vv_value *value,
                        struct vv_buffer *out) {
    char text[VV_NUMBER_ROOM];
    switch (value->type) {
    case VV_VALUE_NONE:
        return write_own(run, "None", value->data, out);
    case VV_VALUE_BOOL:
        return write_own(run, value->of.truth ? "True" : "False", value->data, out);
    case VV_VALUE_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)value->of.integer);
        return write_own(run, text, value->data, out);
    case VV_VALUE_REAL:
        vv_number_print(value->of.real, text);
        return write_own(run, text, value->data, out);
    case VV_VALUE_BIG:
        return vv_buffer_add_marked(out, value->of.text, run->error);
    default: /* of no use to a template: no more than its kind is shown */
        snprintf(text, sizeof text, "<%s>", strchr(vv_jinja_type_name(value), ' ') + 1);
        return write_own(run, text, false, out);
    }
}

static int print(struct vv_jinja_run *run, const struct vv_value *value, struct vv_buffer *out) {
    if (value->type == VV_VALUE_DICT) {
        return print_dict(run, value, out);
    }
    if (value->type == VV_VALUE_NAMESPACE) {
        return print_namespace(run, value->of.space, out);
    }
    return vv_jinja_is_list(value) ? print_list(run, value, out) : print_simple(run, value, out);
}

int vv_jinja_print_repr(struct vv_jinja_run *run, const struct vv_value *value,
                        struct vv_buffer *out) {
    if (value->type == VV_VALUE_STRING) {
        return print_quoted(run, value->of.text, out);
    }
    if (value->type == VV_VALUE_UNDEFINED) {
        return write_own(run, "Undefined", false, out);
    }
    int status = vv_jinja_enter(run);
    status = status == VV_OK ? vv_jinja_charge(run, 1) : status;
    status = status == VV_OK ? print(run, value, out) : status;
    vv_jinja_leave(run);
    return status;
}

int vv_jinja_print(struct vv_jinja_run *run, const struct vv_value *value, struct vv_buffer *out) {
    if (value->type == VV_VALUE_STRING) {
        return vv_buffer_add_marked(out, value->of.text, run->error);
    }
    return value->type == VV_VALUE_UNDEFINED ? VV_OK : vv_jinja_print_repr(run, value, out);
}

int vv_jinja_text(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_marked **out) {
    if (value->type == VV_VALUE_STRING) {
        *out = value->of.text;
        return VV_OK;
    }
    struct vv_value text = {.of.text = NULL};
    struct vv_buffer *buffer = vv_jinja_buffer(run, 32);
    int status = buffer ? vv_jinja_print(run, value, buffer) : run->error->code;
    status = status == VV_OK ? vv_jinja_finish(run, buffer, &text) : status;
    *out = text.of.text;
    return status;
}

struct vv_buffer *vv_jinja_buffer(struct vv_jinja_run *run, size_t room) {
    return vv_buffer_new(&run->arena, room, run->error);
}

int vv_jinja_finish(struct vv_jinja_run *run, struct vv_buffer *buffer, struct vv_value *out) {
    const struct vv_marked *text = vv_buffer_text(&run->arena, buffer, 0, NULL, run->error);
    *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return text ? vv_jinja_charge_bytes(run, text->length) : run->error->code;
}

int vv_jinja_part(struct vv_jinja_run *run, const struct vv_marked *text, size_t start,
                  size_t length, struct vv_value *out) {
    const struct vv_marked *part = vv_marked_part(&run->arena, text, start, length, run->error);
    *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = part};
    return part ? VV_OK : run->error->code;
}

int vv_jinja_own_text(struct vv_jinja_run *run, const char *text, struct vv_value *out) {
    struct vv_text own = {text, strlen(text)};
    const struct vv_marked *made = vv_marked_new(&run->arena, own, false, run->error);
    *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = made};
    return made ? VV_OK : run->error->code;
}
