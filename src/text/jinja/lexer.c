#include "text/jinja/lexer.h"

#include "text/letter.h"
#include "text/number.h"
#include "text/utf8.h"

#include <string.h>

static int refuse(struct vv_lexer *lexer, size_t at, const char *what, struct vv_error *error) {
    lexer->at = at;
    return vv_fail(error, VV_ERROR_INVALID, "%s", what);
}

/* The byte at `at`, or 0 behind the end. */
static char byte_at(const struct vv_lexer *lexer, size_t at) {
    return at < lexer->source.length ? lexer->source.at[at] : 0;
}

static bool starts_with(const struct vv_lexer *lexer, size_t at, const char *word) {
    size_t length = strlen(word);
    return at <= lexer->source.length && length <= lexer->source.length - at &&
           memcmp(lexer->source.at + at, word, length) == 0;
}

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
 * byte: without white space at its end, as it is, or, if `block`, without the blanks that are all of
 * its last line.
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
    char sign = byte_at(lexer, at);
    bool has_sign = (sign == '-' || sign == '+') && starts_with(lexer, at + 1, close);
    if (!has_sign && !starts_with(lexer, at, close)) {
        return 0;
    }
    at += has_sign ? 3 : 2;
    if (has_sign) {
        return sign == '-' ? skip_space(lexer, at) : at;
    }
    return byte_at(lexer, at) == '\n' ? at + 1 : at;
}

/* The same for "}}", which a line end behind it does not belong to. */
static size_t print_end(const struct vv_lexer *lexer, size_t at) {
    if (starts_with(lexer, at, "-}}")) {
        return skip_space(lexer, at + 3);
    }
    return starts_with(lexer, at, "}}") ? at + 2 : 0;
}

/* Whether a sign stands at `at`. */
static bool is_sign(const struct vv_lexer *lexer, size_t at) {
    return byte_at(lexer, at) == '-' || byte_at(lexer, at) == '+';
}

/* Behind the word `name` of a tag that begins at `at`, or 0 if it has another name. */
static size_t tag_name_end(const struct vv_lexer *lexer, size_t at, const char *name) {
    at = skip_space(lexer, at + 2 + is_sign(lexer, at + 2));
    return starts_with(lexer, at, name) ? skip_space(lexer, at + strlen(name)) : 0;
}

/* Behind {% raw %} at `at`, or 0 if that is another tag. */
static size_t raw_begin(const struct vv_lexer *lexer, size_t at) {
    size_t end = tag_name_end(lexer, at, "raw");
    if (end > 0 && starts_with(lexer, end, "-%}")) {
        return skip_space(lexer, end + 3);
    }
    return end > 0 && starts_with(lexer, end, "%}") ? end + 2 : 0;
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
        return refuse(lexer, begin, "this raw block has no {% endraw %}", error);
    }
    size_t end = text_end(lexer, begin, tag, byte_at(lexer, tag + 2), true);
    lexer->at = after;
    return make_text(lexer, begin, end, lexeme, error);
}

/* Moves behind the comment that begins at `at`. */
static int skip_comment(struct vv_lexer *lexer, size_t at, struct vv_error *error) {
    size_t inside = at + 2 + is_sign(lexer, at + 2);
    size_t close = find(lexer, inside, "#}");
    if (close == lexer->source.length) {
        return refuse(lexer, at, "this comment has no end", error);
    }
    bool sign = close > inside && is_sign(lexer, close - 1);
    lexer->at = tag_end(lexer, close - sign, "#}");
    return VV_OK;
}

/* The next place at `at` or later where a tag, a comment or an expression begins. */
static size_t find_opening(const struct vv_lexer *lexer, size_t at) {
    for (at = find(lexer, at, "{"); at < lexer->source.length; at = find(lexer, at + 1, "{")) {
        char second = byte_at(lexer, at + 1);
        if (second == '{' || second == '%' || second == '#') {
            break;
        }
    }
    return at;
}

static int open_tag(struct vv_lexer *lexer, size_t at, struct vv_lexeme *lexeme) {
    bool print = byte_at(lexer, at + 1) == '{';
    lexer->mode = print ? VV_LEXER_PRINT : VV_LEXER_TAG;
    lexer->at = at + 2 + is_sign(lexer, at + 2);
    *lexeme = (struct vv_lexeme){
        print ? VV_LEX_OPEN_PRINT : VV_LEX_OPEN_TAG, at, {lexer->source.at + at, 2}, {0}};
    return VV_OK;
}

static int read_text(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    while (lexer->at < lexer->source.length) {
        size_t begin = lexer->at, open = find_opening(lexer, begin);
        char kind = byte_at(lexer, open + 1);
        size_t end = open == lexer->source.length
                         ? open
                         : text_end(lexer, begin, open, byte_at(lexer, open + 2), kind != '{');
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

/* ---- Strings ---- */

/* Up to `most` digits of an escape, at least `least`; -1 if there are fewer, or it is too large. */
static long escape_digits(const char *at, const char *end, int least, int most, int base,
                          const char **after) {
    long value = 0;
    int count = 0;
    for (; count < most && at < end; count++, at++) {
        int c = *at, letter = c | 0x20;
        int digit = c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 87 : 99;
        if (digit >= base) {
            break;
        }
        value = value * base + digit;
    }
    *after = at;
    return count < least || value > 0x10ffff ? -1 : value;
}

/*
 * The character that an escape stands for, behind whose backslash `*at` is, and moves behind it.
 * -1: it has too few digits, or a name. -2: it stands for nothing (a line end), -3: for itself.
 */
static long read_escape(const char **at, const char *end) {
    static const char letters[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    char c = *(*at)++;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
        return meanings[letter - letters];
    }
    switch (c) {
    case '\n':
        return -2;
    case 'x':
        return escape_digits(*at, end, 2, 2, 16, at);
    case 'u':
        return escape_digits(*at, end, 4, 4, 16, at);
    case 'U':
        return escape_digits(*at, end, 8, 8, 16, at);
    case 'N':
        return -1;
    default:
        if (c >= '0' && c <= '7') {
            return escape_digits(*at - 1, end, 1, 3, 8, at);
        }
        (*at)--;
        return -3;
    }
}

/* What the inside of a string stands for. */
static int unescape(struct vv_buffer *buffer, const char *at, const char *end, const char **wrong,
                    struct vv_error *error) {
    int status = VV_OK;
    while (status == VV_OK && at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        const char *plain = backslash ? backslash : end;
        status = vv_buffer_add(buffer, at, (size_t)(plain - at), false, error);
        at = plain;
        if (status == VV_OK && backslash) {
            *wrong = at++;
            long character = read_escape(&at, end);
            if (character == -1) {
                return vv_fail(error, VV_ERROR_INVALID,
                               "this escape has too few digits, or is of a kind that is not known");
            }
            character = character == -3 ? '\\' : character;
            bool surrogate = character >= 0xd800 && character <= 0xdfff;
            if (character >= 0) {
                status = vv_buffer_add_character(
                    buffer, surrogate ? 0xfffd : (uint32_t)character, false, error);
            }
        }
    }
    return status;
}

static int read_string(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    char quote = byte_at(lexer, lexer->at);
    size_t begin = lexer->at + 1, end = begin;
    while (end < lexer->source.length && lexer->source.at[end] != quote) {
        end += lexer->source.at[end] == '\\' ? 2 : 1;
    }
    if (end >= lexer->source.length) {
        return refuse(lexer, lexer->at, "this string has no end", error);
    }
    const char *source = lexer->source.at, *wrong = source;
    struct vv_buffer *buffer = vv_buffer_new(lexer->arena, end - begin, error);
    if (!buffer) {
        return error->code;
    }
    int status = unescape(buffer, source + begin, source + end, &wrong, error);
    buffer->arena = NULL;
    const struct vv_marked *text =
        status == VV_OK ? vv_buffer_text(lexer->arena, buffer, 0, NULL, error) : NULL;
    lexer->at = text ? end + 1 : (size_t)(wrong - source);
    lexeme->kind = VV_LEX_STRING;
    lexeme->value = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return text ? VV_OK : error->code;
}

/* ---- Numbers, names, operators ---- */

/* Where a stretch of digits of `base`, with single '_' between them, ends; `at` if there is none. */
static size_t digits_end(const struct vv_lexer *lexer, size_t at, int base) {
    size_t end = at;
    for (bool digit_before = false;; end++) {
        int c = byte_at(lexer, end), letter = c | 0x20;
        int digit = c >= '0' && c <= '9'            ? c - '0'
                    : letter >= 'a' && letter <= 'f' ? letter - 87
                                                     : 99;
        if (digit >= base && !(c == '_' && digit_before)) {
            return digit_before || end == at ? end : end - 1;
        }
        digit_before = c != '_';
    }
}

/* Behind a real that begins at `at`, or 0 if there is none. */
static size_t real_end(const struct vv_lexer *lexer, size_t at) {
    size_t end = digits_end(lexer, at, 10);
    if (end == at || (at > 0 && lexer->source.at[at - 1] == '.')) {
        return 0;
    }
    bool real = false;
    if (byte_at(lexer, end) == '.') {
        size_t behind = digits_end(lexer, end + 1, 10);
        real = behind > end + 1;
        end = real ? behind : end;
    }
    if ((byte_at(lexer, end) | 0x20) == 'e') {
        size_t first = end + 1 + is_sign(lexer, end + 1), last = digits_end(lexer, first, 10);
        real = real || last > first;
        end = last > first ? last : end;
    }
    return real ? end : 0;
}

/* Behind an integer that begins with a digit at `at`; `*base` and `*digits` say how to read it. */
static size_t integer_end(const struct vv_lexer *lexer, size_t at, int *base, size_t *digits) {
    int letter = byte_at(lexer, at) == '0' ? byte_at(lexer, at + 1) | 0x20 : 0;
    *base = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 10;
    *digits = at;
    if (*base != 10) {
        size_t first = at + 2 + (byte_at(lexer, at + 2) == '_');
        size_t end = digits_end(lexer, first, *base);
        *digits = first;
        if (end > first) {
            return end;
        }
        *base = 10;
        *digits = at;
    }
    if (byte_at(lexer, at) != '0') {
        return digits_end(lexer, at, 10);
    }
    while (byte_at(lexer, at) == '0' ||
           (byte_at(lexer, at) == '_' && byte_at(lexer, at + 1) == '0')) {
        at++;
    }
    return at;
}

/* The value of digits with '_' between them; false beyond 64 bits. */
static bool integer_value(struct vv_text digits, int base, int64_t *out) {
    *out = 0;
    for (size_t i = 0; i < digits.length; i++) {
        int c = digits.at[i], digit = c <= '9' ? c - '0' : (c | 0x20) - 87;
        if (c != '_' && (__builtin_mul_overflow(*out, base, out) ||
                         __builtin_add_overflow(*out, digit, out))) {
            return false;
        }
    }
    return true;
}

/* A real without its '_'; false if it has more digits than anyone would write. */
static bool real_value(struct vv_text text, double *out) {
    char digits[400];
    size_t used = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] != '_') {
            if (used == sizeof digits) {
                return false;
            }
            digits[used++] = text.at[i];
        }
    }
    return vv_number_read(digits, used, out);
}

static int read_number(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    int base;
    size_t begin = lexer->at, digits, end = real_end(lexer, begin);
    bool fine;
    if (end > 0) {
        struct vv_text text = {lexer->source.at + begin, end - begin};
        lexeme->kind = VV_LEX_REAL;
        lexeme->value = vv_value_real(0, false);
        fine = real_value(text, &lexeme->value.of.real);
    } else {
        end = integer_end(lexer, begin, &base, &digits);
        struct vv_text text = {lexer->source.at + digits, end - digits};
        lexeme->kind = VV_LEX_INTEGER;
        lexeme->value = vv_value_integer(0, false);
        fine = integer_value(text, base, &lexeme->value.of.integer);
    }
    lexer->at = end;
    return fine ? VV_OK : refuse(lexer, begin, "this number is too long", error);
}

/* Whether a name may have this character; ASCII digits not in front. */
static bool is_name_character(uint32_t c) {
    return c < 0x80 ? (c | 0x20) - 'a' < 26 || c - '0' < 10 || c == '_'
                    : vv_is_letter(c) || vv_is_number(c);
}

static size_t name_end(const struct vv_lexer *lexer, size_t at) {
    while (at < lexer->source.length) {
        size_t next = at;
        if (!is_name_character(vv_utf8_next(lexer->source.at, &next))) {
            break;
        }
        at = next;
    }
    return at;
}

static const struct {
    const char *text;
    enum vv_lexeme_kind kind;
} operators[] = {
    {"//", VV_LEX_SLASH_SLASH}, {"**", VV_LEX_STAR_STAR}, {"==", VV_LEX_EQUAL},
    {"!=", VV_LEX_NOT_EQUAL},   {"<=", VV_LEX_LESS_EQUAL}, {">=", VV_LEX_GREATER_EQUAL},
    {"+", VV_LEX_PLUS},         {"-", VV_LEX_MINUS},      {"*", VV_LEX_STAR},
    {"/", VV_LEX_SLASH},        {"%", VV_LEX_PERCENT},    {"~", VV_LEX_TILDE},
    {"<", VV_LEX_LESS},         {">", VV_LEX_GREATER},    {"=", VV_LEX_ASSIGN},
    {".", VV_LEX_DOT},          {",", VV_LEX_COMMA},      {":", VV_LEX_COLON},
    {"|", VV_LEX_PIPE},         {"(", VV_LEX_OPEN_PAREN}, {")", VV_LEX_CLOSE_PAREN},
    {"[", VV_LEX_OPEN_BRACKET}, {"]", VV_LEX_CLOSE_BRACKET},
    {"{", VV_LEX_OPEN_BRACE},   {"}", VV_LEX_CLOSE_BRACE},
};

/* Keeps account of the brackets, within which no tag ends. */
static int count_brackets(struct vv_lexer *lexer, enum vv_lexeme_kind kind,
                          struct vv_error *error) {
    static const char closing[] = {[VV_LEX_OPEN_PAREN] = ')',
                                   [VV_LEX_OPEN_BRACKET] = ']',
                                   [VV_LEX_OPEN_BRACE] = '}'};
    if (kind == VV_LEX_OPEN_PAREN || kind == VV_LEX_OPEN_BRACKET || kind == VV_LEX_OPEN_BRACE) {
        if (lexer->depth == VV_LEXER_NEST) {
            return refuse(lexer, lexer->at, "brackets are nested too deeply here", error);
        }
        lexer->closing[lexer->depth++] = closing[kind];
    } else if (kind == VV_LEX_CLOSE_PAREN || kind == VV_LEX_CLOSE_BRACKET ||
               kind == VV_LEX_CLOSE_BRACE) {
        if (lexer->depth == 0 ||
            lexer->closing[lexer->depth - 1] != lexer->source.at[lexer->at]) {
            return refuse(lexer, lexer->at, "this closing bracket has no opening one", error);
        }
        lexer->depth--;
    }
    return VV_OK;
}

static int read_operator(struct vv_lexer *lexer, struct vv_lexeme *lexeme,
                         struct vv_error *error) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (starts_with(lexer, lexer->at, operators[i].text)) {
            int status = count_brackets(lexer, operators[i].kind, error);
            lexeme->kind = operators[i].kind;
            lexer->at += status == VV_OK ? strlen(operators[i].text) : 0;
            return status;
        }
    }
    return refuse(lexer, lexer->at, "this character has no meaning here", error);
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
    } else if (byte_at(lexer, at) >= '0' && byte_at(lexer, at) <= '9') {
        status = read_number(lexer, lexeme, error);
    } else if ((end = name_end(lexer, at)) > at) {
        lexeme->kind = VV_LEX_NAME;
        lexer->at = end;
    } else if (byte_at(lexer, at) == '"' || byte_at(lexer, at) == '\'') {
        status = read_string(lexer, lexeme, error);
    } else {
        status = read_operator(lexer, lexeme, error);
    }
    lexeme->text.length = lexer->at > at ? lexer->at - at : 0;
    return status;
}

int vv_lexer_next(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    return lexer->mode == VV_LEXER_TEXT ? read_text(lexer, lexeme, error)
                                        : read_inside(lexer, lexeme, error);
}
