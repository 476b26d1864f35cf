#include "text/jinja/builtins.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

enum { WIDEST = 1 << 20 }; /* of a padded field */

/* ---- Python's "text" % values ---- */

/* The values of a format: one after another, or by name out of a dict. */
struct values {
    const struct vv_value *items;
    size_t count, next;
    const struct vv_dict *named; /* or NULL */
    bool may_be_left;            /* values that the format does not use are no error */
};

/* One conversion: %(name)-08.3f */
struct field {
    bool left, zeros, plus, blank, alternate;
    size_t width;
    int places; /* -1: none given */
    char conversion;
};

static int refuse_field(struct vv_jinja_run *run) {
    return vv_jinja_refuse(run, "this format has a field that is not known, or has no end");
}

/* A number at *at, at most WIDEST. */
static size_t read_width(const char **at, const char *end) {
    size_t width = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        width = width < WIDEST ? width * 10 + (size_t)(**at - '0') : width;
    }
    return width;
}

static void read_flags(const char **at, const char *end, struct field *field) {
    for (; *at < end; (*at)++) {
        switch (**at) {
        case '-':
            field->left = true;
            break;
        case '0':
            field->zeros = true;
            break;
        case '+':
            field->plus = true;
            break;
        case ' ':
            field->blank = true;
            break;
        case '#':
            field->alternate = true;
            break;
        default:
            return;
        }
    }
}

/* What the next field shows: the value of a name in brackets, or the next one. */
static int pick_value(struct vv_jinja_run *run, struct values *values, const char **at,
                      const char *end, const struct vv_value **out) {
    *out = NULL;
    if (*at < end && **at == '(') {
        const char *close = memchr(*at, ')', (size_t)(end - *at));
        if (!close || !values->named) {
            return vv_jinja_refuse(run, "this format needs a dict, and a name in brackets");
        }
        struct vv_text name = {*at + 1, (size_t)(close - *at) - 1};
        *out = vv_dict_find_text(values->named, name);
        *at = close + 1;
        return *out ? VV_OK
                    : vv_jinja_refuse(run, "the format's name '%.*s' has no value",
                                      VV_JINJA_SHOW(name));
    }
    return VV_OK;
}

/* The digits of an integer, without a sign, in the base of the conversion. */
static void print_digits(int64_t integer, const struct field *field, char out[80]) {
    uint64_t size = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    const char *prefix = !field->alternate          ? ""
                         : field->conversion == 'x' ? "0x"
                         : field->conversion == 'X' ? "0X"
                         : field->conversion == 'o' ? "0o"
                                                    : "";
    const char *format = field->conversion == 'x'   ? "%s%llx"
                         : field->conversion == 'X' ? "%s%llX"
                         : field->conversion == 'o' ? "%s%llo"
                                                    : "%s%llu";
    snprintf(out, 80, format, prefix, (unsigned long long)size);
}

/* Sign and digits as they are filled up to the width. */
static int write_padded(struct vv_jinja_run *run, const struct field *field, const char *sign,
                        const struct vv_marked *text, bool numeric, struct vv_buffer *out) {
    size_t length = strlen(sign) + text->characters;
    size_t more = field->width > length ? field->width - length : 0;
    bool zeros = field->zeros && !field->left && numeric;
    int status = vv_jinja_charge(run, more);
    for (size_t i = 0; status == VV_OK && !field->left && !zeros && i < more; i++) {
        status = vv_buffer_add(out, " ", 1, false, run->error);
    }
    status = status == VV_OK ? vv_buffer_add(out, sign, strlen(sign), false, run->error) : status;
    for (size_t i = 0; status == VV_OK && zeros && i < more; i++) {
        status = vv_buffer_add(out, "0", 1, false, run->error);
    }
    status = status == VV_OK ? vv_buffer_add_marked(out, text, run->error) : status;
    for (size_t i = 0; status == VV_OK && field->left && i < more; i++) {
        status = vv_buffer_add(out, " ", 1, false, run->error);
    }
    return status;
}

static int write_number(struct vv_jinja_run *run, const struct field *field,
                        const struct vv_value *value, struct vv_buffer *out) {
    char text[VV_NUMBER_FIXED + 80];
    bool whole = strchr("diuxXo", field->conversion) != NULL, negative;
    if (!vv_value_is_number(value)) {
        return value->type == VV_VALUE_UNDEFINED
                   ? vv_jinja_refuse_undefined(run, value)
                   : vv_jinja_refuse(run, "a number is needed here, not %s",
                                     vv_jinja_type_name(value));
    }
    int64_t integer;
    bool is_integer = vv_value_as_integer(value, &integer);
    if (whole) {
        double real = vv_value_as_real(value);
        bool fits = real > -0x1p63 && real < 0x1p63;
        if (!is_integer && (!fits || strchr("xXo", field->conversion))) {
            return vv_jinja_refuse(run, "this number cannot be written as an integer");
        }
        integer = is_integer ? integer : (int64_t)real;
        negative = integer < 0;
        print_digits(integer, field, text);
    } else {
        double real = vv_value_as_real(value);
        negative = real < 0 || (real == 0 && 1 / real < 0);
        vv_number_format(negative ? -real : real, field->conversion,
                         field->places < 0 ? 6 : field->places, field->alternate, text);
    }
    const char *sign = negative ? "-" : field->plus ? "+" : field->blank ? " " : "";
    const struct vv_marked *marked =
        vv_marked_new(&run->arena, (struct vv_text){text, strlen(text)}, value->data, run->error);
    return marked ? write_padded(run, field, sign, marked, true, out) : run->error->code;
}

/* s, r and c. */
static int write_text(struct vv_jinja_run *run, const struct field *field,
                      const struct vv_value *value, struct vv_buffer *out) {
    const struct vv_marked *text;
    struct vv_value written = *value;
    int status = VV_OK;
    if (field->conversion == 'r') {
        struct vv_buffer *buffer = vv_jinja_buffer(run, 32);
        status = buffer ? vv_jinja_print_repr(run, value, buffer) : run->error->code;
        status = status == VV_OK ? vv_jinja_finish(run, buffer, &written) : status;
    }
    if (status == VV_OK && field->conversion == 'c' &&
        (value->type != VV_VALUE_STRING || value->of.text->characters != 1)) {
        return vv_jinja_refuse(run, "one character is needed here");
    }
    status = status == VV_OK ? vv_jinja_text(run, &written, &text) : status;
    if (status == VV_OK && field->places >= 0 && (size_t)field->places < text->characters) {
        size_t length = vv_marked_offset(text, (size_t)field->places);
        status = vv_jinja_part(run, text, 0, length, &written);
        text = written.of.text;
    }
    return status == VV_OK ? write_padded(run, field, "", text, false, out) : status;
}

/* One field, behind whose '%' *at is. */
static int write_field(struct vv_jinja_run *run, struct values *values, const char **at,
                       const char *end, struct vv_buffer *out) {
    struct field field = {.places = -1};
    const struct vv_value *value;
    int status = pick_value(run, values, at, end, &value);
    read_flags(at, end, &field);
    field.width = read_width(at, end);
    if (*at < end && **at == '.') {
        (*at)++;
        field.places = (int)read_width(at, end);
    }
    if (status != VV_OK || *at == end || field.width >= WIDEST || field.places > VV_NUMBER_PLACES) {
        return status == VV_OK ? refuse_field(run) : status;
    }
    field.conversion = *(*at)++;
    if (field.conversion == '%') {
        return vv_buffer_add(out, "%", 1, false, run->error);
    }
    if (!strchr("srcdiuxXofFeEgG", field.conversion) || !field.conversion) {
        return refuse_field(run);
    }
    if (!value && values->next == values->count) {
        return vv_jinja_refuse(run, "there are fewer values than the format needs");
    }
    value = value ? value : &values->items[values->next++];
    return strchr("src", field.conversion) ? write_text(run, &field, value, out)
                                           : write_number(run, &field, value, out);
}

static int format(struct vv_jinja_run *run, const struct vv_marked *text, struct values *values,
                  struct vv_value *out) {
    struct vv_buffer *buffer = vv_jinja_buffer(run, text->length);
    const char *bytes = vv_marked_bytes(text), *at = bytes, *end = bytes + text->length;
    int status = buffer ? VV_OK : run->error->code;
    while (status == VV_OK && at < end) {
        const char *field = memchr(at, '%', (size_t)(end - at));
        size_t plain = (size_t)((field ? field : end) - at);
        status = vv_buffer_add_part(buffer, text, (size_t)(at - bytes), plain, run->error);
        at = field ? field + 1 : end;
        status = status == VV_OK && field ? write_field(run, values, &at, end, buffer) : status;
    }
    if (status == VV_OK && !values->may_be_left && values->next < values->count) {
        return vv_jinja_refuse(run, "there are more values than the format needs");
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

int vv_jinja_format(struct vv_jinja_run *run, const struct vv_marked *text,
                    const struct vv_value *arguments, struct vv_value *out) {
    struct values values = {.items = arguments, .count = 1};
    if (arguments->type == VV_VALUE_TUPLE) {
        values.items = vv_list_items(arguments->of.list);
        values.count = arguments->of.list->count;
    } else if (arguments->type == VV_VALUE_DICT) {
        values.named = arguments->of.dict;
    }
    values.may_be_left = arguments->type == VV_VALUE_DICT || arguments->type == VV_VALUE_LIST ||
                         arguments->type == VV_VALUE_RANGE || arguments->type == VV_VALUE_UNDEFINED;
    return format(run, text, &values, out);
}

/* The named arguments of a call as a dict. */
static int named_dict(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    struct vv_jinja_call named = {NULL, 0, call->named, call->named_count};
    return vv_jinja_make_dict(run, &named, out);
}

int vv_jinja_format_filter(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                           struct vv_value *out) {
    struct values values = {.items = call->values + 1, .count = call->count - 1};
    struct vv_value dict;
    const struct vv_marked *text;
    if (call->named_count > 0 && values.count > 0) {
        return vv_jinja_refuse(run, "'format' takes plain arguments or named ones, not both");
    }
    int status = vv_jinja_text(run, &call->values[0], &text);
    if (status == VV_OK && call->named_count > 0) {
        status = named_dict(run, call, &dict);
        values.named = dict.of.dict;
        values.may_be_left = true;
    }
    return status == VV_OK ? format(run, text, &values, out) : status;
}

/* ---- "{} {name}".format(…), without widths ---- */

/* The value that the inside of a pair of braces names; *automatic counts empty ones, or is -1. */
static int pick_braces(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_text name, int64_t *automatic, struct vv_value *out) {
    int64_t index = *automatic;
    bool counted = name.length == 0, number = vv_integer_read(name.at, name.length, &index);
    if ((counted && *automatic < 0) || (number && *automatic > 0)) {
        return vv_jinja_refuse(run, "a format has either empty braces or numbers in them");
    }
    if (counted || number) {
        *automatic = counted ? index + 1 : -1;
        if (index < 0 || (uint64_t)index + 1 >= call->count) {
            return vv_jinja_refuse(run, "there are fewer values than the format needs");
        }
        *out = call->values[index + 1];
        return VV_OK;
    }
    for (size_t i = 0; i < call->named_count; i++) {
        if (vv_text_order(call->named[i].name, name) == 0) {
            *out = call->named[i].value;
            return VV_OK;
        }
    }
    return vv_jinja_refuse(run, "the format's name '%.*s' has no value, or says more than a name",
                           VV_JINJA_SHOW(name));
}

int vv_jinja_format_method(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                           struct vv_value *out) {
    const struct vv_marked *text = call->values[0].of.text;
    struct vv_buffer *buffer = vv_jinja_buffer(run, text->length);
    const char *bytes = vv_marked_bytes(text);
    int64_t automatic = 0;
    int status = buffer ? VV_OK : run->error->code;
    for (size_t at = 0; status == VV_OK && at < text->length;) {
        size_t plain = at;
        while (at < text->length && bytes[at] != '{' && bytes[at] != '}') {
            at++;
        }
        status = vv_buffer_add_part(buffer, text, plain, at - plain, run->error);
        if (status != VV_OK || at == text->length) {
            break;
        }
        if (at + 1 < text->length && bytes[at + 1] == bytes[at]) { /* {{ and }} */
            status = vv_buffer_add_part(buffer, text, at, 1, run->error);
            at += 2;
            continue;
        }
        const char *close = memchr(bytes + at, '}', text->length - at);
        if (bytes[at] == '}' || !close) {
            return vv_jinja_refuse(run, "a brace in a format has no other one");
        }
        struct vv_text name = {bytes + at + 1, (size_t)(close - bytes) - at - 1};
        struct vv_value value;
        status = pick_braces(run, call, name, &automatic, &value);
        status = status == VV_OK ? vv_jinja_print(run, &value, buffer) : status;
        at = (size_t)(close - bytes) + 1;
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}
