/* What the two halves of the lexer share: lexer.c finds tags, lexer_inside.c reads what is in them.
 */
#pragma once
#include "text/jinja/lexer.h"

#include <string.h>

static inline int vv_lexer_refuse(struct vv_lexer *lexer, size_t at, const char *what,
                                  struct vv_error *error) {
    lexer->at = at;
    return vv_fail(error, VV_ERROR_INVALID, "%s", what);
}

/* The byte at `at`, or 0 behind the end. */
static inline char vv_lexer_byte(const struct vv_lexer *lexer, size_t at) {
    return at < lexer->source.length ? lexer->source.at[at] : 0;
}

static inline bool vv_lexer_starts(const struct vv_lexer *lexer, size_t at, const char *word) {
    size_t length = strlen(word);
    return at <= lexer->source.length && length <= lexer->source.length - at &&
           memcmp(lexer->source.at + at, word, length) == 0;
}

/* Whether a sign stands at `at`. */
static inline bool vv_lexer_is_sign(const struct vv_lexer *lexer, size_t at) {
    return vv_lexer_byte(lexer, at) == '-' || vv_lexer_byte(lexer, at) == '+';
}

/* A string, number, name or operator at lexer->at, which is neither white space nor the end. */
int vv_lexer_read_inside(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error);
