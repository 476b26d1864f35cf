#include "text/json.h"

#include "text/utf8.h"

#include <string.h>

/* What may come next. */
enum expect {
    A_VALUE,        /* at the beginning, and behind ':' or the ',' of an array */
    A_VALUE_OR_END, /* behind '[' */
    A_KEY,          /* behind the ',' of an object */
    A_KEY_OR_END,   /* behind '{' */
    A_COMMA_OR_END, /* behind a value within an array or object */
    NOTHING,        /* behind the outermost value */
};

static int refuse(const struct vv_json *json, const char *what, struct vv_error *error) {
    return vv_fail(error, VV_ERROR_INVALID, "this is not JSON: %s at byte %zu", what, json->at);
}

/* The next byte, or -1 at the end. */
static int peek(const struct vv_json *json) {
    return json->at < json->text.length ? (unsigned char)json->text.at[json->at] : -1;
}

static void skip_space(struct vv_json *json) {
    for (int c = peek(json); c == ' ' || c == '\n' || c == '\r' || c == '\t'; c = peek(json)) {
        json->at++;
    }
}

static int close_value(struct vv_json *json) {
    json->expect = json->depth > 0 ? A_COMMA_OR_END : NOTHING;
    return VV_OK;
}

static int open_nest(struct vv_json *json, bool object, struct vv_error *error) {
    if (json->depth == VV_JSON_DEPTH) {
        return refuse(json, "it is nested too deeply", error);
    }
    json->at++;
    json->object[json->depth++] = object;
    json->expect = object ? A_KEY_OR_END : A_VALUE_OR_END;
    return VV_OK;
}

static int close_nest(struct vv_json *json, enum vv_json_part *part) {
    json->at++;
    json->depth--;
    *part = json->object[json->depth] ? VV_JSON_OBJECT_END : VV_JSON_ARRAY_END;
    return close_value(json);
}

/* ---- Strings ---- */

/* The four digits of an escape \uXXXX, which `at` is behind the 'u' of; -1 if they are not there.
 */
static long read_hex(struct vv_json *json) {
    long value = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        int c = peek(json);
        int digit = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : -1;
        if (c < 0 || digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* The character of an escape \uXXXX, or of two that are a pair; a lone surrogate is U+FFFD. */
static long read_unicode(struct vv_json *json) {
    long first = read_hex(json);
    if (first < 0xd800 || first > 0xdfff) {
        return first;
    }
    const char *next = json->text.at + json->at;
    if (first <= 0xdbff && json->text.length - json->at >= 6 && next[0] == '\\' && next[1] == 'u') {
        size_t behind = json->at;
        json->at += 2;
        long second = read_hex(json);
        if (second >= 0xdc00 && second <= 0xdfff) {
            return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        }
        json->at = behind; /* another character, or an error of its own */
    }
    return 0xfffd;
}

static int read_escape(struct vv_json *json, struct vv_error *error) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    json->at++;
    int c = peek(json);
    if (c == 'u') {
        json->at++;
        long character = read_unicode(json);
        if (character < 0) {
            return refuse(json, "an escape \\u without four digits", error);
        }
        return vv_utf8_append(&json->string, (uint32_t)character, error);
    }
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (!letter) {
        return refuse(json, "an escape that there is none of", error);
    }
    json->at++;
    return vv_bytes_append(&json->string, meanings + (letter - letters), 1, error);
}

/* Bytes from `at` on that stand for themselves in a string. */
static size_t plain_run(const struct vv_json *json) {
    size_t end = json->at;
    while (end < json->text.length) {
        unsigned char c = (unsigned char)json->text.at[end];
        size_t n = c < 0x80 ? 1 : vv_utf8_length(json->text.at + end, json->text.length - end);
        if (c < 0x20 || c == '"' || c == '\\' || n == 0) {
            break;
        }
        end += n;
    }
    return end - json->at;
}

static int read_string(struct vv_json *json, struct vv_error *error) {
    int status = VV_OK;
    json->string.length = 0;
    for (json->at++; status == VV_OK && peek(json) != '"';) {
        size_t run = plain_run(json);
        if (run > 0) {
            status = vv_bytes_append(&json->string, json->text.at + json->at, run, error);
            json->at += run;
        } else if (peek(json) == '\\') {
            status = read_escape(json, error);
        } else {
            return refuse(json, "a string with a bare control character, ill-formed or unclosed",
                          error);
        }
    }
    json->at += status == VV_OK;
    return status;
}

/* ---- Numbers and words ---- */

static bool skip_digits(struct vv_json *json) {
    size_t begin = json->at;
    while (peek(json) >= '0' && peek(json) <= '9') {
        json->at++;
    }
    return json->at > begin;
}

static int read_number(struct vv_json *json, enum vv_json_part *part, struct vv_error *error) {
    size_t begin = json->at;
    json->at += peek(json) == '-';
    bool fine = true;
    if (peek(json) == '0') {
        json->at++;
    } else {
        fine = skip_digits(json);
    }
    *part = VV_JSON_INTEGER;
    if (fine && peek(json) == '.') {
        json->at++;
        fine = skip_digits(json);
        *part = VV_JSON_REAL;
    }
    if (fine && (peek(json) == 'e' || peek(json) == 'E')) {
        json->at++;
        json->at += peek(json) == '+' || peek(json) == '-';
        fine = skip_digits(json);
        *part = VV_JSON_REAL;
    }
    json->number = (struct vv_text){json->text.at + begin, json->at - begin};
    return fine ? close_value(json) : refuse(json, "a number without a digit", error);
}

static int read_word(struct vv_json *json, enum vv_json_part *part, struct vv_error *error) {
    static const struct {
        const char *word;
        size_t length;
        enum vv_json_part part;
    } words[] = {{"null", 4, VV_JSON_NULL}, {"true", 4, VV_JSON_TRUE}, {"false", 5, VV_JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (json->text.length - json->at >= words[i].length &&
            memcmp(json->text.at + json->at, words[i].word, words[i].length) == 0) {
            json->at += words[i].length;
            *part = words[i].part;
            return close_value(json);
        }
    }
    return refuse(json, "something that begins no value", error);
}

/* ---- The order of parts ---- */

static int read_value(struct vv_json *json, enum vv_json_part *part, struct vv_error *error) {
    int c = peek(json);
    if (c == '{' || c == '[') {
        *part = c == '{' ? VV_JSON_OBJECT : VV_JSON_ARRAY;
        return open_nest(json, c == '{', error);
    }
    if (c == '"') {
        *part = VV_JSON_STRING;
        int status = read_string(json, error);
        return status == VV_OK ? close_value(json) : status;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return read_number(json, part, error);
    }
    return read_word(json, part, error);
}

static int read_key(struct vv_json *json, enum vv_json_part *part, struct vv_error *error) {
    if (peek(json) != '"') {
        return refuse(json, "something that is no key", error);
    }
    int status = read_string(json, error);
    if (status != VV_OK) {
        return status;
    }
    skip_space(json);
    if (peek(json) != ':') {
        return refuse(json, "a key without ':' behind it", error);
    }
    json->at++;
    *part = VV_JSON_KEY;
    json->expect = A_VALUE;
    return VV_OK;
}

int vv_json_next(struct vv_json *json, enum vv_json_part *part, struct vv_error *error) {
    skip_space(json);
    bool object = json->depth > 0 && json->object[json->depth - 1];
    int end = object ? '}' : ']';
    if (json->expect == A_COMMA_OR_END && peek(json) == ',') {
        json->at++;
        json->expect = object ? A_KEY : A_VALUE;
        skip_space(json);
    }
    switch ((enum expect)json->expect) {
    case A_COMMA_OR_END:
        return peek(json) == end ? close_nest(json, part)
                                 : refuse(json, "neither ',' nor an end", error);
    case A_VALUE_OR_END:
    case A_KEY_OR_END:
        if (peek(json) == end) {
            return close_nest(json, part);
        }
        return object ? read_key(json, part, error) : read_value(json, part, error);
    case A_KEY:
        return read_key(json, part, error);
    case A_VALUE:
        return read_value(json, part, error);
    case NOTHING:
        break;
    }
    *part = VV_JSON_END;
    return peek(json) < 0 ? VV_OK : refuse(json, "something behind the value", error);
}
