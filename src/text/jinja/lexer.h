/* A template as a sequence of tokens. Outside of tags there is text; within them, expressions. */
#pragma once
#include "text/jinja/value.h"

enum vv_lexeme_kind {
    VV_LEX_END,
    VV_LEX_TEXT,
    VV_LEX_OPEN_PRINT, /* {{ */
    VV_LEX_CLOSE_PRINT,
    VV_LEX_OPEN_TAG, /* {% */
    VV_LEX_CLOSE_TAG,
    VV_LEX_NAME,
    VV_LEX_STRING,
    VV_LEX_INTEGER,
    VV_LEX_REAL,
    VV_LEX_PLUS,
    VV_LEX_MINUS,
    VV_LEX_STAR,
    VV_LEX_STAR_STAR,
    VV_LEX_SLASH,
    VV_LEX_SLASH_SLASH,
    VV_LEX_PERCENT,
    VV_LEX_TILDE,
    VV_LEX_EQUAL,
    VV_LEX_NOT_EQUAL,
    VV_LEX_LESS,
    VV_LEX_LESS_EQUAL,
    VV_LEX_GREATER,
    VV_LEX_GREATER_EQUAL,
    VV_LEX_ASSIGN,
    VV_LEX_DOT,
    VV_LEX_COMMA,
    VV_LEX_COLON,
    VV_LEX_PIPE,
    VV_LEX_OPEN_PAREN,
    VV_LEX_CLOSE_PAREN,
    VV_LEX_OPEN_BRACKET,
    VV_LEX_CLOSE_BRACKET,
    VV_LEX_OPEN_BRACE,
    VV_LEX_CLOSE_BRACE,
};

struct vv_lexeme {
    enum vv_lexeme_kind kind;
    size_t at;             /* byte of the source */
    struct vv_text text;   /* of it */
    struct vv_value value; /* of texts, strings and numbers */
};

enum { VV_LEXER_NEST = 200 }; /* brackets within one another, at most */

enum vv_lexer_mode { VV_LEXER_TEXT, VV_LEXER_PRINT, VV_LEXER_TAG };

struct vv_lexer {
    struct vv_text source;
    struct vv_arena *arena; /* for values */
    size_t at;
    enum vv_lexer_mode mode;
    unsigned depth;
    char closing[VV_LEXER_NEST]; /* of each open bracket */
};

/*
 * The next token. White space is treated as with trim_blocks and lstrip_blocks: a line end behind a
 * tag, and blanks between a line's beginning and a tag, are not there. On failure lexer->at is
 * where.
 */
int vv_lexer_next(struct vv_lexer *lexer, struct vv_lexeme *lexeme, struct vv_error *error);
