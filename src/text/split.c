#include "text/split.h"

#include "text/unicode.h"
#include "text/utf8.h"

#include <stdint.h>
#include <string.h>

enum {
    LETTER = VV_CLASS_LETTER,
    MARK = VV_CLASS_MARK,
    NUMBER = VV_CLASS_NUMBER,
    PUNCTUATION = VV_CLASS_PUNCTUATION,
    SYMBOL = VV_CLASS_SYMBOL,
    SPACE = VV_CLASS_SPACE,
    OTHER = VV_CLASS_OTHER,
};

/* In all functions below: [at, end) is the stretch looked at; the result is the end of the match,
 * `at` itself if there is none. */

static bool is_line_end(char c) {
    return c == '\r' || c == '\n';
}

static bool is_ascii_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* One character, if its class is among `classes`. */
static size_t one(const char *text, size_t at, size_t end, unsigned classes) {
    size_t next = at;
    return at < end && vv_unicode_class(vv_utf8_next(text, &next)) & classes ? next : at;
}

/* [classes]{0,most} */
static size_t run(const char *text, size_t at, size_t end, unsigned classes, size_t most) {
    size_t next = at;
    for (size_t n = 0; n < most && (next = one(text, at, end, classes)) > at; n++) {
        at = next;
    }
    return at;
}

static size_t line_ends(const char *text, size_t at, size_t end) {
    while (at < end && is_line_end(text[at])) {
        at++;
    }
    return at;
}

/* [before, but not \r \n]?[\p{L}\p{M}]+ ; giving the first back is possible where it is a mark. */
static size_t word(const char *text, size_t at, size_t end, unsigned before) {
    size_t first = at < end && is_line_end(text[at]) ? at : one(text, at, end, before);
    size_t rest = run(text, first, end, LETTER | MARK, SIZE_MAX);
    return rest > first ? rest : one(text, at, end, LETTER | MARK);
}

/*  ?[classes]+[\r\n]* */
static size_t signs(const char *text, size_t at, size_t end, unsigned classes) {
    size_t first = at < end && text[at] == ' ' ? at + 1 : at;
    size_t rest = run(text, first, end, classes, SIZE_MAX);
    return rest > first ? line_ends(text, rest, end) : at;
}

/*
 * \s*[\r\n]+ | \s+(?!\S) | \s+ : white space up to its last line end; without one, all of it if
 * the stretch ends there, else all but the last character, which is left for the next piece unless
 * it is the only one.
 */
static size_t blank(const char *text, size_t at, size_t end) {
    size_t after_line = at, last = at, next = at;
    for (size_t i = at; (next = one(text, i, end, SPACE)) > i; i = next) {
        after_line = is_line_end(text[i]) ? next : after_line;
        last = i;
    }
    if (after_line > at) {
        return after_line;
    }
    return next == end || last == at ? next : last;
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d); the only letter beyond ASCII with such a case is U+017F, an s. */
static size_t contraction(const char *text, size_t at, size_t end) {
    if (at == end || text[at] != '\'') {
        return at;
    }
    int a = at + 1 < end ? text[at + 1] | 0x20 : 0, b = at + 2 < end ? text[at + 2] | 0x20 : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') {
        return at + 2;
    }
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) {
        return at + 3;
    }
    return end - at >= 3 && memcmp(text + at + 1, "\u017f", 2) == 0 ? at + 3 : at;
}

static bool take(struct vv_split *split, size_t end, struct vv_text *piece) {
    if (end == split->at) {
        return false; /* only at the end of the text: everything before it matches */
    }
    *piece = (struct vv_text){split->text + split->at, end - split->at};
    split->at = end;
    return true;
}

static bool next_qwen35(struct vv_split *split, struct vv_text *piece) {
    const char *text = split->text;
    size_t at = split->at, end = split->length, next = contraction(text, at, end);
    if (next == at) {
        next = word(text, at, end, MARK | PUNCTUATION | SYMBOL | SPACE | OTHER);
    }
    if (next == at) {
        next = one(text, at, end, NUMBER);
    }
    if (next == at) {
        next = signs(text, at, end, PUNCTUATION | SYMBOL | OTHER);
    }
    if (next == at) {
        next = blank(text, at, end);
    }
    return take(split, next, piece);
}

/* A run of what the second cut of DeepSeek's takes out: unified ideographs, hiragana, katakana. */
static size_t kana_and_han(const char *text, size_t at, size_t end) {
    for (size_t next = at; next < end; at = next) {
        uint32_t c = vv_utf8_next(text, &next);
        if (!((c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff))) {
            break;
        }
    }
    return at;
}

/* What the first two cuts match at `at`. */
static size_t outer_match(const char *text, size_t at, size_t end) {
    size_t next = run(text, at, end, NUMBER, 3);
    return next > at ? next : kana_and_han(text, at, end);
}

/* The end of the piece that the first two cuts leave at `at`: a match, or all up to the next. */
static size_t outer_piece(const char *text, size_t at, size_t end) {
    size_t next = outer_match(text, at, end);
    if (next == at) {
        do {
            vv_utf8_next(text, &next);
        } while (next < end && outer_match(text, next, end) == next);
    }
    return next;
}

/* [ASCII punctuation][A-Za-z]+ */
static size_t sign_and_letters(const char *text, size_t at, size_t end) {
    bool sign = at < end && text[at] > ' ' && text[at] < 0x7f && !is_ascii_letter(text[at]) &&
                !(text[at] >= '0' && text[at] <= '9');
    size_t next = at + 1;
    while (sign && next < end && is_ascii_letter(text[next])) {
        next++;
    }
    return sign && next > at + 1 ? next : at;
}

/* The third cut's match at `at`. */
static size_t inner_match(const char *text, size_t at, size_t end) {
    size_t next = sign_and_letters(text, at, end);
    if (next == at) {
        next = word(text, at, end, MARK | NUMBER | SPACE | OTHER);
    }
    if (next == at) {
        next = signs(text, at, end, PUNCTUATION | SYMBOL);
    }
    return next == at ? blank(text, at, end) : next;
}

static bool next_deepseek(struct vv_split *split, struct vv_text *piece) {
    const char *text = split->text;
    size_t at = split->at;
    if (at == split->part && at < split->length) {
        split->part = outer_piece(text, at, split->length);
    }
    size_t end = split->part, next = inner_match(text, at, end);
    if (next == at && at < end) { /* what no alternative matches, up to where one does */
        do {
            vv_utf8_next(text, &next);
        } while (next < end && inner_match(text, next, end) == next);
    }
    return take(split, next, piece);
}

const struct vv_splitter vv_splitters[] = {
    {"qwen35", true, next_qwen35},
    {"joyai-llm", false, next_deepseek},
    {"deepseek-v3", false, next_deepseek}, /* another name of the same cut */
    {0},
};
