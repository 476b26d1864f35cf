/* From tokens to a tree: statements in parser.c, expressions in parse_expression.c, what is between
 * two operators in parse_operand.c. */
#pragma once
#include "text/jinja/lexer.h"
#include "text/jinja/tree.h"

enum { VV_PARSER_NEST = 150 }; /* expressions and blocks within one another, at most */

struct vv_parser {
    struct vv_lexer lexer;
    struct vv_lexeme current, next;
    struct vv_arena *arena;
    struct vv_jinja_node *macro; /* the innermost one that is being read, or NULL */
    unsigned loops;              /* that {% break %} could leave here */
    unsigned depth;
    size_t at; /* where a failure was */
    struct vv_error *error;
};

/* ---- Tools ---- */

/* One sentence about the current token: VV_ERROR_INVALID. */
int vv_parser_refuse(struct vv_parser *p, const char *format, ...) VV_PRINTF(2, 3);

/* Goes on to the next token. */
int vv_parser_step(struct vv_parser *p);

bool vv_parser_is_word(const struct vv_parser *p, const char *word);

/* Takes the current token if it is of that kind, or that word; `*taken` says whether. */
int vv_parser_take(struct vv_parser *p, enum vv_lexeme_kind kind, bool *taken);
int vv_parser_take_word(struct vv_parser *p, const char *word, bool *taken);

/* Takes the current token, which must be of that kind; `what` is how a message calls it. */
int vv_parser_expect(struct vv_parser *p, enum vv_lexeme_kind kind, const char *what);
int vv_parser_expect_name(struct vv_parser *p, struct vv_text *name);

/* A new node at the current token; NULL fills the error. */
struct vv_jinja_node *vv_parser_node(struct vv_parser *p, enum vv_node_kind kind);

/* A new node with `*out` as its operand a, in the place of `*out`. */
int vv_parser_wrap(struct vv_parser *p, enum vv_node_kind kind, struct vv_jinja_node **out);

/* Counts what lies within something else; refuses at VV_PARSER_NEST. */
int vv_parser_enter(struct vv_parser *p);
void vv_parser_leave(struct vv_parser *p);

/* ---- Expressions ---- */

int vv_parse_expression(struct vv_parser *p, struct vv_jinja_node **out);

/* With its signs, attributes, calls and, if `with_filters`, filters and tests. */
int vv_parse_operand(struct vv_parser *p, bool with_filters, struct vv_jinja_node **out);

/* A name, a literal, or something in brackets. `members`: also "namespace.name", to be set. */
int vv_parse_primary(struct vv_parser *p, bool members, struct vv_jinja_node **out);

/* What may stand between tags, brackets and words: one expression, or several as a tuple. */
struct vv_tuple_rules {
    bool target; /* names, tuples of them, and with `members` "namespace.name" */
    bool members;
    bool no_condition; /* "a if b" is none: the 'if' belongs to a loop */
    bool may_be_empty;
    const char *end_word; /* ends the tuple, or NULL */
};
int vv_parse_tuple(struct vv_parser *p, struct vv_tuple_rules rules, struct vv_jinja_node **out);

/* "|name(arguments)", again and again, applied to *out, which may be NULL; `named`: the first one's
 * name comes without '|'. */
int vv_parse_filters(struct vv_parser *p, bool named, struct vv_jinja_node **out);
