#include "text/jinja/builtins.h"
#include "text/letter.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 400 }; /* digits of a number in a text */

int vv_jinja_abs(struct vv_jinja_run *run, const struct vv_jinja_call *call, struct vv_value *out) {
    const struct vv_value *value = &call->values[0];
    struct vv_value zero = vv_value_integer(0, false);
    if (!vv_value_is_number(value)) {
        return value->type == VV_VALUE_UNDEFINED
                   ? vv_jinja_refuse_undefined(run, value)
                   : vv_jinja_refuse(run, "'abs' needs a number, not %s",
                                     vv_jinja_type_name(value));
    }
    if (value->type == VV_VALUE_REAL) {
        *out = vv_value_real(fabs(value->of.real), value->data);
        return VV_OK;
    }
    bool negative = value->type == VV_VALUE_INTEGER && value->of.integer < 0;
    return vv_compute(negative ? VV_SUBTRACT : VV_ADD, &zero, value, out, run->error);
}

/* ---- int and float ---- */

static bool is_ascii_space(char c) {
    return (unsigned char)c < 0x80 && vv_is_space((unsigned char)c);
}

/* The text without white space around it and single '_' between digits, or false. */
static bool plain_digits(const struct vv_marked *text, char out[LONGEST + 1]) {
    const char *bytes = vv_marked_bytes(text);
    size_t begin = 0, end = text->length, used = 0;
    while (begin < end && is_ascii_space(bytes[begin])) {
        begin++;
    }
    while (end > begin && is_ascii_space(bytes[end - 1])) {
        end--;
    }
    for (size_t i = begin; i < end; i++) {
        bool between = i > begin && i + 1 < end && bytes[i - 1] != '_' && bytes[i + 1] != '_';
        if (bytes[i] == '_' ? !between : used == LONGEST || bytes[i] == 0) {
            return false;
        }
        if (bytes[i] != '_') {
            out[used++] = bytes[i];
        }
    }
    out[used] = 0;
    return used > 0;
}

static bool is_word(const char *text, const char *word) {
    text += *text == '+' || *text == '-';
    while (*word && (*text | 0x20) == *word) {
        text++;
        word++;
    }
    return !*word && !*text;
}

/* As Python's float(text). */
static bool text_to_real(const struct vv_marked *text, double *out) {
    char digits[LONGEST + 1];
    if (!plain_digits(text, digits)) {
        return false;
    }
    double sign = digits[0] == '-' ? -1 : 1;
    if (is_word(digits, "inf") || is_word(digits, "infinity")) {
        *out = sign * (double)INFINITY;
        return true;
    }
    if (is_word(digits, "nan")) {
        *out = (double)NAN;
        return true;
    }
    return vv_number_read(digits, strlen(digits), out);
}

/* Behind a prefix 0x, 0o or 0b that goes with the base; of base 0 it decides. */
static const char *skip_prefix(const char *digits, int *base) {
    int letter = digits[0] == '0' ? digits[1] | 0x20 : 0;
    int named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named && (*base == 0 || *base == named)) {
        *base = named;
        return digits + 2;
    }
    *base = *base == 0 ? 10 : *base;
    return digits;
}

/* As Python's int(text, base), up to 64 bits. */
static bool text_to_integer(const struct vv_marked *text, int base, int64_t *out) {
    char buffer[LONGEST + 1];
    if (!plain_digits(text, buffer)) {
        return false;
    }
    bool negative = buffer[0] == '-';
    const char *digits = skip_prefix(buffer + (negative || buffer[0] == '+'), &base);
    bool fine = *digits != 0;
    *out = 0;
    for (; fine && *digits; digits++) {
        int letter = *digits | 0x20;
        int digit = *digits >= '0' && *digits <= '9' ? *digits - '0'
                    : letter >= 'a' && letter <= 'z' ? letter - 'a' + 10
                                                     : 99;
        fine = digit < base && !__builtin_mul_overflow(*out, base, out) &&
               !__builtin_add_overflow(*out, negative ? -digit : digit, out);
    }
    return fine;
}

static bool comes_from_data(const struct vv_value *value) {
    bool text = value->type == VV_VALUE_STRING || value->type == VV_VALUE_BIG;
    return text ? vv_marked_any_data(value->of.text) : value->data;
}

/* A real without its places, as a big integer if need be; NaN and infinity have none. */
static int whole_part(struct vv_jinja_run *run, double real, bool data, struct vv_value *out) {
    char digits[VV_NUMBER_FIXED];
    if (real > -0x1p63 && real < 0x1p63) {
        *out = vv_value_integer((int64_t)real, data);
        return VV_OK;
    }
    struct vv_text text = {digits, vv_number_format(real, 'f', 0, false, digits)};
    const struct vv_marked *marked = vv_marked_new(&run->arena, text, data, run->error);
    *out = (struct vv_value){.type = VV_VALUE_BIG, .data = data, .of.text = marked};
    return marked ? VV_OK : run->error->code;
}

/* Decimal digits that are no 64-bit integer, as a big one; false if there is something else. */
static bool is_big(const struct vv_marked *text, char digits[LONGEST + 1]) {
    if (!plain_digits(text, digits)) {
        return false;
    }
    size_t sign = digits[0] == '-' || digits[0] == '+';
    size_t zeros = sign + strspn(digits + sign, "0"), count = strspn(digits + sign, "0123456789");
    bool fine = count > 0 && count == strlen(digits) - sign;
    memmove(digits + (digits[0] == '-'), digits + zeros, strlen(digits + zeros) + 1);
    return fine;
}

static int text_to_whole(struct vv_jinja_run *run, const struct vv_value *value, int64_t base,
                         struct vv_value *out) {
    const struct vv_marked *text = value->of.text;
    bool data = comes_from_data(value);
    char digits[LONGEST + 1];
    int64_t integer;
    double real;
    bool is_base = base == 0 || (base >= 2 && base <= 36);
    if (is_base && text_to_integer(text, (int)base, &integer)) {
        *out = vv_value_integer(integer, data);
    } else if (base == 10 && is_big(text, digits)) {
        const struct vv_marked *marked =
            vv_marked_new(&run->arena, (struct vv_text){digits, strlen(digits)}, data, run->error);
        *out = (struct vv_value){.type = VV_VALUE_BIG, .data = data, .of.text = marked};
        return marked ? VV_OK : run->error->code;
    } else if (text_to_real(text, &real) && real - real == 0) {
        return whole_part(run, real, data, out);
    }
    return VV_OK;
}

int vv_jinja_to_integer(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *otherwise = &call->values[1];
    int64_t base, integer = 0;
    int status = vv_jinja_want_integer(run, &call->values[2], 10, &base);
    if (status != VV_OK || value->type == VV_VALUE_UNDEFINED) {
        return status == VV_OK ? vv_jinja_refuse_undefined(run, value) : status;
    }
    *out = vv_is_given(otherwise) ? *otherwise : vv_value_integer(0, false);
    if (value->type == VV_VALUE_STRING) {
        return text_to_whole(run, value, base, out);
    }
    if (value->type == VV_VALUE_BIG) {
        *out = *value;
    } else if (value->type == VV_VALUE_REAL && value->of.real - value->of.real == 0) {
        return whole_part(run, value->of.real, value->data, out);
    } else if (value->type == VV_VALUE_REAL && value->of.real == value->of.real) {
        return vv_jinja_refuse(run, "infinity is no integer");
    } else if (vv_value_as_integer(value, &integer)) {
        *out = vv_value_integer(integer, value->data);
    }
    return VV_OK;
}

int vv_jinja_to_real(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *otherwise = &call->values[1];
    double real = 0;
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, value);
    }
    *out = vv_is_given(otherwise) ? *otherwise : vv_value_real(0, false);
    if (vv_value_is_number(value)) {
        *out = vv_value_real(vv_value_as_real(value), value->data);
    } else if ((value->type == VV_VALUE_STRING || value->type == VV_VALUE_BIG) &&
               text_to_real(value->of.text, &real)) {
        *out = vv_value_real(real, comes_from_data(value));
    }
    return VV_OK;
}

/* ---- round ---- */

/* To so many places behind the point (before it if negative), halves to the even digit. */
static double round_places(double x, int64_t places) {
    char text[VV_NUMBER_FIXED];
    if (x - x != 0 || places > 340) {
        return x;
    }
    if (places < 0) { /* by the digits in front of the point: the ones cut off become zeros */
        double unit = 1;
        for (int64_t i = 0; i > places && unit < 1e300; i--) {
            unit *= 10;
        }
        return unit < 1e300 ? rint(x / unit) * unit : 0 * x;
    }
    size_t length = vv_number_format(x, 'f', (int)places, false, text);
    vv_number_read(text, length, &x);
    return x;
}

static int round_integer(struct vv_jinja_run *run, const struct vv_value *value, int64_t places,
                         struct vv_value *out) {
    *out = *value;
    if (value->type == VV_VALUE_BOOL) {
        *out = vv_value_integer(value->of.truth, value->data);
    }
    return places >= 0 ? VV_OK : vv_jinja_refuse(run, "an integer is rounded to 0 places or more");
}

int vv_jinja_round(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *way = &call->values[2];
    struct vv_text method = {"common", 6};
    int64_t places;
    int status = vv_jinja_want_integer(run, &call->values[1], 0, &places);
    if (status == VV_OK && vv_is_given(way)) {
        method =
            way->type == VV_VALUE_STRING ? vv_marked_text(way->of.text) : (struct vv_text){"", 0};
    }
    if (status != VV_OK || !vv_value_is_number(value)) {
        return status != VV_OK                     ? status
               : value->type == VV_VALUE_UNDEFINED ? vv_jinja_refuse_undefined(run, value)
                                                   : vv_jinja_refuse(run, "'round' needs a number");
    }
    bool ceil_it = vv_text_is(method, "ceil"), floor_it = vv_text_is(method, "floor");
    if (!ceil_it && !floor_it) {
        if (!vv_text_is(method, "common")) {
            return vv_jinja_refuse(run, "'round' knows 'common', 'ceil' and 'floor'");
        }
        if (value->type != VV_VALUE_REAL) {
            return round_integer(run, value, places, out);
        }
        *out = vv_value_real(round_places(value->of.real, places), value->data);
        return VV_OK;
    }
    if (places < 0 || places > 15) {
        return vv_jinja_refuse(run, "'%s' rounds to 0 to 15 places", ceil_it ? "ceil" : "floor");
    }
    double unit = 1;
    for (int64_t i = 0; i < places; i++) {
        unit *= 10;
    }
    double scaled = vv_value_as_real(value) * unit;
    *out = vv_value_real((ceil_it ? ceil(scaled) : floor(scaled)) / unit, value->data);
    return VV_OK;
}

/* ---- sum ---- */

int vv_jinja_sum(struct vv_jinja_run *run, const struct vv_jinja_call *call, struct vv_value *out) {
    const struct vv_value *items, *start = &call->values[2];
    size_t count;
    int status = vv_jinja_items(run, &call->values[0], &items, &count);
    *out = vv_is_given(start) ? *start : vv_value_integer(0, false);
    if (status == VV_OK && out->type == VV_VALUE_STRING) {
        return vv_jinja_refuse(run, "'sum' does not join texts: 'join' does");
    }
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        struct vv_value item, total = *out;
        status = vv_jinja_path(run, &items[i], &call->values[1], NULL, &item);
        status = status == VV_OK ? vv_jinja_operate(run, VV_ADD, &total, &item, out) : status;
    }
    return status == VV_OK ? vv_jinja_charge(run, count) : status;
}
