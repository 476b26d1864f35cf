#include "text/jinja/lexer_parts.h"
#include "text/letter.h"
#include "text/utf8.h"

/* Where the white space from `at` on ends. */
static size_t skip_space(const struct vv_lexer *lexer, size_t at) {
    while (at < lexer->source.length) {
        size_t next = at;
        if (!vv_is_space(vv_utf8_next(lexer->source.at, &next))) {
            break;
        }
        at = next;
    }
    return at;
}

/* ---- Text, and where tags begin and end ---- */

/* Where the white space that source[begin .. end) ends with begins. */
static size_t trim_end(const struct vv_lexer *lexer, size_t begin, size_t end) {
    while (end > begin) {
        size_t character = end - 1;
        while (character > begin && (lexer->source.at[character] & 0xc0) == 0x80) {
            character--;
        }
        size_t at = character;
        if (!vv_is_space(vv_utf8_next(lexer->source.at, &at))) {
            break;
        }
        end = character;
    }
    return end;
}

/*
 * What is left of the text source[begin .. end) in front of a tag whose sign is '-', '+' or another
 * byte: without white space at its end, as it is, or, if `block`, without the blanks that are all
 * of its last line.
 */
static size_t text_end(const struct vv_lexer *lexer, size_t begin, size_t end, char sign,
                       bool block) {
    size_t blank = trim_end(lexer, begin, end);
    if (sign == '-') {
        return blank;
    }
    if (sign == '+' || !block) {
        return end;
    }
    const char *source = lexer->source.at;
    const char *newline = end > begin ? memrchr(source + begin, '\n', end - begin) : NULL;
    size_t line = newline ? (size_t)(newline - source) + 1 : begin;
    bool starts = newline || begin == 0 || source[begin - 1] == '\n';
    return starts && blank <= line ? line : end;
}

/*
 * Where the text behind a tag goes on, if the tag ends at `at`: with a sign and `close` ("%}" or
 * "#}"). 0 if it doesn't end there.
 */
static size_t tag_end(const struct vv_lexer *lexer, size_t at, const char *close) {
    char sign = vv_lexer_byte(lexer, at);
    bool has_sign = (sign == '-' || sign == '+') && vv_lexer_starts(lexer, at + 1, close);
    if (!has_sign && !vv_lexer_starts(lexer, at, close)) {
        return 0;
    }
    at += has_sign ? 3 : 2;
    if (has_sign) {
        return sign == '-' ? skip_space(lexer, at) : at;
    }
    return vv_lexer_byte(lexer, at) == '\n' ? at + 1 : at;
}

/* The same for "}}", which a line end behind it does not belong to. */
static size_t print_end(const struct vv_lexer *lexer, size_t at) {
    if (vv_lexer_starts(lexer, at, "-}}")) {
        return skip_space(lexer, at + 3);
    }
    return vv_lexer_starts(lexer, at, "}}") ? at + 2 : 0;
}

/* Behind the word `name` of a tag that begins at `at`, or 0 if it has another name. */
static size_t tag_name_end(const struct vv_lexer *lexer, size_t at, const char *name) {
    at = skip_space(lexer, at + 2 + vv_lexer_is_sign(lexer, at + 2));
    return vv_lexer_starts(lexer, at, name) ? skip_space(lexer, at + strlen(name)) : 0;
}

/* Behind {% raw %} at `at`, or 0 if that is another tag. */
static size_t raw_begin(const struct vv_lexer *lexer, size_t at) {
    size_t end = tag_name_end(lexer, at, "raw");
    if (end > 0 && vv_lexer_starts(lexer, end, "-%}")) {
        return skip_space(lexer, end + 3);
    }
    return end > 0 && vv_lexer_starts(lexer, end, "%}") ? end + 2 : 0;
}

/* Where the next `open` begins at `at` or later, or the end of the source. */
static size_t find(const struct vv_lexer *lexer, size_t at, const char *open) {
    const char *source = lexer->source.at;
    const char *found = at < lexer->source.length
                            ? memmem(source + at, lexer->source.length - at, open, strlen(open))
                            : NULL;
    return found ? (size_t)(found - source) : lexer->source.length;
}

static int make_text(struct vv_lexer *lexer, size_t begin, size_t end, struct vv_lexeme *lexeme,
                     struct vv_error *error) {
    *lexeme = (struct vv_lexeme){VV_LEX_TEXT, begin, {lexer->source.at + begin, end - begin}, {0}};
    const struct vv_marked *text = vv_marked_new(lexer->arena, lexeme->text, false, error);
    lexeme->value = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return text ? VV_OK : error->code;
}

/* The text of a raw block whose text begins at `begin`; moves behind the block. */
static int read_raw(struct vv_lexer *lexer, size_t begin, struct vv_lexeme *lexeme,
                    struct vv_error *error) {
    size_t tag = find(lexer, begin, "{%"), after = 0;
    while (tag < lexer->source.length) {
        size_t end = tag_name_end(lexer, tag, "endraw");
        after = end > 0 ? tag_end(lexer, end, "%}") : 0;
        if (after > 0) {
            break;
        }
        tag = find(lexer, tag + 1, "{%");
    }
    if (after == 0) {
        return vv_lexer_refuse(lexer, begin, "this raw block has no {% endraw %}", error);
    }
    size_t end = text_end(lexer, begin, tag, vv_lexer_byte(lexer, tag + 2), true);
    lexer->at = after;
    return make_text(lexer, begin, end, lexeme, error);
}

/* Moves behind the comment that begins at `at`. */
static int skip_comment(struct vv_lexer *lexer, size_t at, struct vv_error *error) {
    size_t inside = at + 2 + vv_lexer_is_sign(lexer, at + 2);
    size_t close = find(lexer, inside, "#}");
    if (close == lexer->source.length) {
        return vv_lexer_refuse(lexer, at, "this comment has no end", error);
    }
    bool sign = close > inside && vv_lexer_is_sign(lexer, close - 1);
    lexer->at = tag_end(lexer, close - sign, "#}");
    return VV_OK;
}

/* The next place at `at` or later where a tag, a comment or an expression begins. */
static size_t find_opening(const struct vv_lexer *lexer, size_t at) {
    for (at = find(lexer, at, "{"); at < lexer->source.length; at = find(lexer, at + 1, "{")) {
        char second = vv_lexer_byte(lexer, at + 1);
        if (second == '{' || second == '%' || second == '#') {
            break;
        }
    }
    return at;
}

static int open_tag(struct vv_lexer *lexer, size_t at, struct vv_lexeme *lexeme) {
    bool print = vv_lexer_byte(lexer, at + 1) == '{';
    lexer->mode = print ? VV_LEXER_PRINT : VV_LEXER_TAG;
    lexer->at = at + 2 + vv_lexer_is_sign(lexer, at + 2);
    *lexeme = (struct vv_lexeme){
        print ? VV_LEX_OPEN_PRINT : VV_LEX_OPEN_TAG, at, {lexer->source.at + at, 2}, {0}};
    return VV_OK;
}

static int read_text(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    while (lexer->at < lexer->source.length) {
        size_t begin = lexer->at, open = find_opening(lexer, begin);
        char kind = vv_lexer_byte(lexer, open + 1);
        size_t end =
            open == lexer->source.length
                ? open
                : text_end(lexer, begin, open, vv_lexer_byte(lexer, open + 2), kind != '{');
        lexer->at = open;
        if (end > begin) {
            return make_text(lexer, begin, end, lexeme, error);
        }
        int status = VV_OK;
        size_t raw = kind == '%' ? raw_begin(lexer, open) : 0;
        if (raw > 0) {
            status = read_raw(lexer, raw, lexeme, error);
            if (status != VV_OK || lexeme->text.length > 0) {
                return status;
            }
        } else if (kind == '#') {
            status = skip_comment(lexer, open, error);
        } else {
            return open_tag(lexer, open, lexeme);
        }
        if (status != VV_OK) {
            return status;
        }
    }
    *lexeme = (struct vv_lexeme){VV_LEX_END, lexer->at, {"", 0}, {0}};
    return VV_OK;
}

/* A token within a tag or an expression. */
static int read_inside(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    size_t at = lexer->at = skip_space(lexer, lexer->at);
    *lexeme = (struct vv_lexeme){VV_LEX_END, at, {lexer->source.at + at, 0}, {0}};
    if (at == lexer->source.length) {
        return VV_OK;
    }
    bool print = lexer->mode == VV_LEXER_PRINT;
    size_t end = lexer->depth > 0 ? 0 : print ? print_end(lexer, at) : tag_end(lexer, at, "%}");
    int status = VV_OK;
    if (end > 0) {
        lexeme->kind = print ? VV_LEX_CLOSE_PRINT : VV_LEX_CLOSE_TAG;
        lexer->mode = VV_LEXER_TEXT;
        lexer->at = end;
    } else {
        status = vv_lexer_read_inside(lexer, lexeme, error);
    }
    lexeme->text.length = lexer->at > at ? lexer->at - at : 0;
    return status;
}

int vv_lexer_next(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    return lexer->mode == VV_LEXER_TEXT ? read_text(lexer, lexeme, error)
                                        : read_inside(lexer, lexeme, error);
}
