#include "text/jinja/lexer_parts.h"
#include "text/letter.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- Strings ---- */

/* Up to `most` digits of an escape, at least `least`; -1 if there are fewer, or it is too large. */
static long escape_digits(const char *at, const char *end, int least, int most, int base,
                          const char **after) {
    long value = 0;
    int count = 0;
    for (; count < most && at < end; count++, at++) {
        int c = *at, letter = c | 0x20;
        int digit = c >= '0' && c <= '9'             ? c - '0'
                    : letter >= 'a' && letter <= 'f' ? letter - 87
                                                     : 99;
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
                status = vv_buffer_add_character(buffer, surrogate ? 0xfffd : (uint32_t)character,
                                                 false, error);
            }
        }
    }
    return status;
}

static int read_string(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    char quote = vv_lexer_byte(lexer, lexer->at);
    size_t begin = lexer->at + 1, end = begin;
    while (end < lexer->source.length && lexer->source.at[end] != quote) {
        end += lexer->source.at[end] == '\\' ? 2 : 1;
    }
    if (end >= lexer->source.length) {
        return vv_lexer_refuse(lexer, lexer->at, "this string has no end", error);
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

/* Where a stretch of digits of `base`, with single '_' between them, ends; `at` if there is none.
 */
static size_t digits_end(const struct vv_lexer *lexer, size_t at, int base) {
    size_t end = at;
    for (bool digit_before = false;; end++) {
        int c = vv_lexer_byte(lexer, end), letter = c | 0x20;
        int digit = c >= '0' && c <= '9'             ? c - '0'
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
    if (vv_lexer_byte(lexer, end) == '.') {
        size_t behind = digits_end(lexer, end + 1, 10);
        real = behind > end + 1;
        end = real ? behind : end;
    }
    if ((vv_lexer_byte(lexer, end) | 0x20) == 'e') {
        size_t first = end + 1 + vv_lexer_is_sign(lexer, end + 1),
               last = digits_end(lexer, first, 10);
        real = real || last > first;
        end = last > first ? last : end;
    }
    return real ? end : 0;
}

/* Behind an integer that begins with a digit at `at`; `*base` and `*digits` say how to read it. */
static size_t integer_end(const struct vv_lexer *lexer, size_t at, int *base, size_t *digits) {
    int letter = vv_lexer_byte(lexer, at) == '0' ? vv_lexer_byte(lexer, at + 1) | 0x20 : 0;
    *base = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 10;
    *digits = at;
    if (*base != 10) {
        size_t first = at + 2 + (vv_lexer_byte(lexer, at + 2) == '_');
        size_t end = digits_end(lexer, first, *base);
        *digits = first;
        if (end > first) {
            return end;
        }
        *base = 10;
        *digits = at;
    }
    if (vv_lexer_byte(lexer, at) != '0') {
        return digits_end(lexer, at, 10);
    }
    while (vv_lexer_byte(lexer, at) == '0' ||
           (vv_lexer_byte(lexer, at) == '_' && vv_lexer_byte(lexer, at + 1) == '0')) {
        at++;
    }
    return at;
}

/* The value of digits with '_' between them; false beyond 64 bits. */
static bool integer_value(struct vv_text digits, int base, int64_t *out) {
    *out = 0;
    for (size_t i = 0; i < digits.length; i++) {
        int c = digits.at[i], digit = c <= '9' ? c - '0' : (c | 0x20) - 87;
        if (c != '_' &&
            (__builtin_mul_overflow(*out, base, out) || __builtin_add_overflow(*out, digit, out))) {
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
    return fine ? VV_OK : vv_lexer_refuse(lexer, begin, "this number is too long", error);
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
    {"//", VV_LEX_SLASH_SLASH}, {"**", VV_LEX_STAR_STAR},    {"==", VV_LEX_EQUAL},
    {"!=", VV_LEX_NOT_EQUAL},   {"<=", VV_LEX_LESS_EQUAL},   {">=", VV_LEX_GREATER_EQUAL},
    {"+", VV_LEX_PLUS},         {"-", VV_LEX_MINUS},         {"*", VV_LEX_STAR},
    {"/", VV_LEX_SLASH},        {"%", VV_LEX_PERCENT},       {"~", VV_LEX_TILDE},
    {"<", VV_LEX_LESS},         {">", VV_LEX_GREATER},       {"=", VV_LEX_ASSIGN},
    {".", VV_LEX_DOT},          {",", VV_LEX_COMMA},         {":", VV_LEX_COLON},
    {"|", VV_LEX_PIPE},         {"(", VV_LEX_OPEN_PAREN},    {")", VV_LEX_CLOSE_PAREN},
    {"[", VV_LEX_OPEN_BRACKET}, {"]", VV_LEX_CLOSE_BRACKET}, {"{", VV_LEX_OPEN_BRACE},
    {"}", VV_LEX_CLOSE_BRACE},
};

/* Keeps account of the brackets, within which no tag ends. */
static int count_brackets(struct vv_lexer *lexer, enum vv_lexeme_kind kind,
                          struct vv_error *error) {
    static const char closing[] = {
        [VV_LEX_OPEN_PAREN] = ')', [VV_LEX_OPEN_BRACKET] = ']', [VV_LEX_OPEN_BRACE] = '}'};
    if (kind == VV_LEX_OPEN_PAREN || kind == VV_LEX_OPEN_BRACKET || kind == VV_LEX_OPEN_BRACE) {
        if (lexer->depth == VV_LEXER_NEST) {
            return vv_lexer_refuse(lexer, lexer->at, "brackets are nested too deeply here", error);
        }
        lexer->closing[lexer->depth++] = closing[kind];
    } else if (kind == VV_LEX_CLOSE_PAREN || kind == VV_LEX_CLOSE_BRACKET ||
               kind == VV_LEX_CLOSE_BRACE) {
        if (lexer->depth == 0 || lexer->closing[lexer->depth - 1] != lexer->source.at[lexer->at]) {
            return vv_lexer_refuse(lexer, lexer->at, "this closing bracket has no opening one",
                                   error);
        }
        lexer->depth--;
    }
    return VV_OK;
}

static int read_operator(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (vv_lexer_starts(lexer, lexer->at, operators[i].text)) {
            int status = count_brackets(lexer, operators[i].kind, error);
            lexeme->kind = operators[i].kind;
            lexer->at += status == VV_OK ? strlen(operators[i].text) : 0;
            return status;
        }
    }
    return vv_lexer_refuse(lexer, lexer->at, "this character has no meaning here", error);
}

int vv_lexer_read_inside(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error) {
    char c = vv_lexer_byte(lexer, lexer->at);
    size_t end = name_end(lexer, lexer->at);
    if (c >= '0' && c <= '9') {
        return read_number(lexer, lexeme, error);
    }
    if (c == '"' || c == '\'') {
        return read_string(lexer, lexeme, error);
    }
    if (end == lexer->at) {
        return read_operator(lexer, lexeme, error);
    }
    lexeme->kind = VV_LEX_NAME;
    lexer->at = end;
    return VV_OK;
}
