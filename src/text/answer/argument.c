#include "text/answer/argument.h"

#include "text/answer/schema.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

/* The escape of a byte, or nothing if it stands for itself. */
static void escape_of(unsigned char byte, char out[8]) {
    static const char letters[] = "btn\0fr"; /* of 8 … 13; 11 has none */
    out[0] = 0;
    if (byte == '"' || byte == '\\') {
        snprintf(out, 8, "\\%c", byte);
    } else if (byte >= 8 && byte <= 13 && byte != 11) {
        snprintf(out, 8, "\\%c", letters[byte - 8]);
    } else if (byte < ' ') {
        snprintf(out, 8, "\\u%04x", byte);
    }
}

int vv_json_escape(const char *text, size_t length, struct vv_bytes *out, struct vv_error *error) {
    int status = VV_OK;
    size_t plain = 0;
    for (size_t i = 0; i < length && status == VV_OK; i++) {
        char escape[8];
        escape_of((unsigned char)text[i], escape);
        if (escape[0]) {
            status = vv_bytes_append(out, text + plain, i - plain, error);
            status = status == VV_OK ? vv_bytes_append(out, escape, strlen(escape), error) : status;
            plain = i + 1;
        }
    }
    return status == VV_OK && plain < length
               ? vv_bytes_append(out, text + plain, length - plain, error)
               : status;
}

static bool is_space(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Without the white space at both ends. */
static struct vv_text trimmed(const struct vv_bytes *bytes) {
    struct vv_text text = {bytes->at, bytes->length};
    while (text.length > 0 && is_space(text.at[0])) {
        text.at++;
        text.length--;
    }
    while (text.length > 0 && is_space(text.at[text.length - 1])) {
        text.length--;
    }
    return text;
}

/* ---- What a text may be, by its first byte ---- */

static unsigned types_begun(char byte) {
    switch (byte) {
    case '"':
        return VV_TYPE_STRING;
    case '{':
        return VV_TYPE_OBJECT;
    case '[':
        return VV_TYPE_ARRAY;
    case 't':
    case 'f':
    case 'T':
    case 'F':
        return VV_TYPE_BOOLEAN;
    case 'n':
    case 'N':
        return VV_TYPE_NULL;
    default:
        return byte == '-' || (byte >= '0' && byte <= '9') ? VV_TYPE_NUMBER : 0;
    }
}

/* Of these types of JSON text, those that the value may have: strings come bare where they may. */
static unsigned allowed(const struct vv_argument *argument, unsigned types) {
    bool bare = argument->types & VV_TYPE_STRING;
    return bare ? types & argument->types & ~(unsigned)VV_TYPE_STRING : types;
}

/* Whether the value turns out to be a string with the next piece of it. */
static bool becomes_string(struct vv_argument *argument, const char *text, size_t length) {
    for (size_t i = 0; i < length && !argument->begun; i++) {
        argument->begun = !is_space(text[i]);
        if (argument->begun && !allowed(argument, types_begun(text[i]))) {
            return true;
        }
    }
    return argument->types == VV_TYPE_STRING;
}

/* ---- What it is ---- */

/* The types that the text has as JSON, 0 if it is none; the status is that of memory. */
static int json_types(struct vv_text text, unsigned *types, struct vv_error *error) {
    struct vv_json json = {.text = text};
    enum vv_json_part first, part;
    int status = vv_json_next(&json, &first, error);
    part = first;
    while (status == VV_OK && part != VV_JSON_END) {
        status = vv_json_next(&json, &part, error);
    }
    *types = status == VV_OK ? vv_type_of_json(first) : 0;
    vv_bytes_free(&json.string);
    return status == VV_ERROR_INVALID ? VV_OK : status;
}

static struct vv_text from_python(struct vv_text text) {
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    for (size_t i = 0; i < 3; i++) {
        if (text.length == strlen(words[i][0]) && memcmp(text.at, words[i][0], text.length) == 0) {
            return (struct vv_text){words[i][1], strlen(words[i][1])};
        }
    }
    return text;
}

/* ---- The stream ---- */

/* From now on it is a string; what was held is its beginning. */
static int begin_string(struct vv_argument *argument, struct vv_bytes *out,
                        struct vv_error *error) {
    int status = vv_bytes_append(out, "\"", 1, error);
    status = status == VV_OK ? vv_json_escape(argument->held.at, argument->held.length, out, error)
                             : status;
    vv_bytes_free(&argument->held);
    argument->string = true;
    return status;
}

int vv_argument_add(struct vv_argument *argument, const char *text, size_t length,
                    struct vv_bytes *out, struct vv_error *error) {
    if (argument->string) {
        return vv_json_escape(text, length, out, error);
    }
    bool string = becomes_string(argument, text, length);
    int status = vv_bytes_append(&argument->held, text, length, error);
    return status == VV_OK && string ? begin_string(argument, out, error) : status;
}

int vv_argument_end(struct vv_argument *argument, struct vv_bytes *out, struct vv_error *error) {
    int status = VV_OK;
    if (!argument->string) {
        struct vv_text text = from_python(trimmed(&argument->held));
        unsigned types;
        status = json_types(text, &types, error);
        if (status == VV_OK && allowed(argument, types)) {
            status = vv_bytes_append(out, text.at, text.length, error);
            vv_bytes_free(&argument->held);
            return status;
        }
        status = status == VV_OK ? begin_string(argument, out, error) : status;
    }
    return status == VV_OK ? vv_bytes_append(out, "\"", 1, error) : status;
}
