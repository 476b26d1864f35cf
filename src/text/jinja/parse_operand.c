#include "text/jinja/parser.h"

/* A node with one operand, which is complete. */
int vv_parser_wrap(struct vv_parser *p, enum vv_node_kind kind, struct vv_jinja_node **out) {
    struct vv_jinja_node *node = vv_parser_node(p, kind);
    if (!node) {
        return p->error->code;
    }
    node->a = *out;
    *out = node;
    return VV_OK;
}

/* ---- Lists, dicts, arguments ---- */

/*
 * Items up to the closing bracket, a comma between two of them and perhaps behind the last;
 * `parse` appends one item at *tail.
 */
static int parse_items(struct vv_parser *p, enum vv_lexeme_kind close,
                       int (*parse)(struct vv_parser *p, struct vv_jinja_node **tail),
                       struct vv_jinja_node **first) {
    int status = vv_parser_step(p); /* the opening bracket */
    struct vv_jinja_node **tail = first;
    while (status == VV_OK && p->current.kind != close) {
        status = parse(p, tail);
        for (; status == VV_OK && *tail; tail = &(*tail)->next) {
        }
        if (status == VV_OK && p->current.kind != close) {
            status = vv_parser_expect(p, VV_LEX_COMMA, "',' or a closing bracket");
        }
    }
    return status == VV_OK ? vv_parser_step(p) : status;
}

static int parse_pair(struct vv_parser *p, struct vv_jinja_node **tail) {
    int status = vv_parse_expression(p, tail);
    if (status == VV_OK) {
        status = vv_parser_expect(p, VV_LEX_COLON, "':' behind a key");
    }
    return status == VV_OK ? vv_parse_expression(p, &(*tail)->next) : status;
}

/* What an argument is by its first tokens; arguments come in this order. */
static enum vv_node_kind argument_kind(const struct vv_parser *p) {
    if (p->current.kind == VV_LEX_STAR) {
        return VV_NODE_SPREAD;
    }
    if (p->current.kind == VV_LEX_STAR_STAR) {
        return VV_NODE_SPREAD_NAMED;
    }
    return p->current.kind == VV_LEX_NAME && p->next.kind == VV_LEX_ASSIGN ? VV_NODE_KEYWORD
                                                                           : VV_NODE_CONSTANT;
}

static int parse_argument(struct vv_parser *p, struct vv_jinja_node **tail) {
    enum vv_node_kind kind = argument_kind(p);
    if (kind == VV_NODE_CONSTANT) { /* any expression */
        return vv_parse_expression(p, tail);
    }
    struct vv_jinja_node *node = *tail = vv_parser_node(p, kind);
    if (!node) {
        return p->error->code;
    }
    int status = VV_OK;
    if (kind == VV_NODE_KEYWORD) {
        status = vv_parser_expect_name(p, &node->name);
    }
    status = status == VV_OK ? vv_parser_step(p) : status; /* '=', '*' or '**' */
    return status == VV_OK ? vv_parse_expression(p, &node->a) : status;
}

/* Plain arguments, then named ones, "*" and "**", the last two once. */
static int check_order(struct vv_parser *p, const struct vv_jinja_node *arguments) {
    bool named = false, spread = false, spread_named = false, fine = true;
    for (const struct vv_jinja_node *a = arguments; a; a = a->next) {
        switch (a->kind) {
        case VV_NODE_KEYWORD:
            fine = fine && !spread_named;
            named = true;
            break;
        case VV_NODE_SPREAD:
            fine = fine && !spread && !spread_named;
            spread = true;
            break;
        case VV_NODE_SPREAD_NAMED:
            fine = fine && !spread_named;
            spread_named = true;
            break;
        default:
            fine = fine && !named && !spread && !spread_named;
        }
    }
    return fine ? VV_OK
                : vv_parser_refuse(p, "these arguments are not in order: first plain ones, then "
                                      "named ones, then '*' and '**'");
}

static int parse_arguments(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = parse_items(p, VV_LEX_CLOSE_PAREN, parse_argument, out);
    return status == VV_OK ? check_order(p, *out) : status;
}

/* ---- What follows an operand ---- */

static int parse_call(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = vv_parser_wrap(p, VV_NODE_CALL, out);
    return status == VV_OK ? parse_arguments(p, &(*out)->b) : status;
}

static int parse_attribute(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = vv_parser_wrap(p, VV_NODE_ATTRIBUTE, out);
    status = status == VV_OK ? vv_parser_step(p) : status;
    if (status != VV_OK) {
        return status;
    }
    if (p->current.kind == VV_LEX_INTEGER) { /* a.0 is a[0] */
        (*out)->kind = VV_NODE_ITEM;
        return vv_parse_primary(p, false, &(*out)->b);
    }
    return vv_parser_expect_name(p, &(*out)->name);
}

/* One part of a slice, which may be missing. */
static int parse_slice_part(struct vv_parser *p, struct vv_jinja_node **out) {
    bool missing = p->current.kind == VV_LEX_COLON || p->current.kind == VV_LEX_CLOSE_BRACKET ||
                   p->current.kind == VV_LEX_COMMA;
    return missing ? VV_OK : vv_parse_expression(p, out);
}

static int parse_item_or_slice(struct vv_parser *p, struct vv_jinja_node *item) {
    bool colon = false;
    int status = parse_slice_part(p, &item->b);
    status = status == VV_OK ? vv_parser_take(p, VV_LEX_COLON, &colon) : status;
    if (status != VV_OK || !colon) {
        return status;
    }
    item->kind = VV_NODE_SLICE;
    status = parse_slice_part(p, &item->c);
    status = status == VV_OK ? vv_parser_take(p, VV_LEX_COLON, &colon) : status;
    return status == VV_OK && colon ? parse_slice_part(p, &item->d) : status;
}

/* a[1, 2] has a tuple as its key; the first item is read. */
static int parse_more_items(struct vv_parser *p, struct vv_jinja_node *item) {
    struct vv_jinja_node *tuple = vv_parser_node(p, VV_NODE_TUPLE);
    if (!tuple) {
        return p->error->code;
    }
    if (item->kind == VV_NODE_SLICE || !item->b) {
        return vv_parser_refuse(p, "a slice cannot be part of a tuple");
    }
    tuple->a = item->b;
    item->b = tuple;
    struct vv_jinja_node **tail = &tuple->a->next;
    int status = VV_OK;
    while (status == VV_OK && p->current.kind == VV_LEX_COMMA) {
        status = vv_parser_step(p);
        status = status == VV_OK ? vv_parse_expression(p, tail) : status;
        tail = status == VV_OK ? &(*tail)->next : tail;
    }
    return status;
}

static int parse_subscript(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = vv_parser_wrap(p, VV_NODE_ITEM, out);
    status = status == VV_OK ? vv_parser_step(p) : status;
    status = status == VV_OK ? parse_item_or_slice(p, *out) : status;
    if (status == VV_OK && p->current.kind == VV_LEX_COMMA) {
        status = parse_more_items(p, *out);
    }
    if (status == VV_OK && (*out)->kind == VV_NODE_ITEM && !(*out)->b) {
        return vv_parser_refuse(p, "there is nothing between these brackets");
    }
    return status == VV_OK ? vv_parser_expect(p, VV_LEX_CLOSE_BRACKET, "']'") : status;
}

static int parse_postfix(struct vv_parser *p, struct vv_jinja_node **out) {
    for (int status = VV_OK; status == VV_OK;) {
        switch (p->current.kind) {
        case VV_LEX_DOT:
            status = parse_attribute(p, out);
            break;
        case VV_LEX_OPEN_BRACKET:
            status = parse_subscript(p, out);
            break;
        case VV_LEX_OPEN_PAREN:
            status = parse_call(p, out);
            break;
        default:
            return VV_OK;
        }
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

int vv_parse_filters(struct vv_parser *p, bool named, struct vv_jinja_node **out) {
    int status = VV_OK;
    while (status == VV_OK && (named || p->current.kind == VV_LEX_PIPE)) {
        status = named ? VV_OK : vv_parser_step(p);
        status = status == VV_OK ? vv_parser_wrap(p, VV_NODE_FILTER, out) : status;
        status = status == VV_OK ? vv_parser_expect_name(p, &(*out)->name) : status;
        if (status == VV_OK && p->current.kind == VV_LEX_OPEN_PAREN) {
            status = parse_arguments(p, &(*out)->b);
        }
        named = false;
    }
    return status;
}

/* Whether the current token begins the argument of a test that has no brackets: "x is in list". */
static bool begins_argument(const struct vv_parser *p) {
    switch (p->current.kind) {
    case VV_LEX_NAME:
        return !vv_parser_is_word(p, "else") && !vv_parser_is_word(p, "or") &&
               !vv_parser_is_word(p, "and");
    case VV_LEX_STRING:
    case VV_LEX_INTEGER:
    case VV_LEX_REAL:
    case VV_LEX_OPEN_BRACKET:
    case VV_LEX_OPEN_BRACE:
        return true;
    default:
        return false;
    }
}

static int parse_test(struct vv_parser *p, struct vv_jinja_node **out) {
    bool negated = false;
    int status = vv_parser_step(p);
    status = status == VV_OK ? vv_parser_take_word(p, "not", &negated) : status;
    status = status == VV_OK ? vv_parser_wrap(p, VV_NODE_TEST, out) : status;
    struct vv_jinja_node *test = *out;
    status = status == VV_OK ? vv_parser_expect_name(p, &test->name) : status;
    if (status == VV_OK && p->current.kind == VV_LEX_OPEN_PAREN) {
        status = parse_arguments(p, &test->b);
    } else if (status == VV_OK && begins_argument(p)) {
        if (vv_parser_is_word(p, "is")) {
            return vv_parser_refuse(p,
                                    "a test cannot follow a test: put brackets around the first");
        }
        status = vv_parse_primary(p, false, &test->b);
        status = status == VV_OK ? parse_postfix(p, &test->b) : status;
    }
    return status == VV_OK && negated ? vv_parser_wrap(p, VV_NODE_NOT, out) : status;
}

static int parse_filters_and_tests(struct vv_parser *p, struct vv_jinja_node **out) {
    for (int status = VV_OK;;) {
        if (p->current.kind == VV_LEX_PIPE) {
            status = vv_parse_filters(p, false, out);
        } else if (vv_parser_is_word(p, "is")) {
            status = parse_test(p, out);
        } else if (p->current.kind == VV_LEX_OPEN_PAREN) {
            status = parse_call(p, out);
        } else {
            return VV_OK;
        }
        if (status != VV_OK) {
            return status;
        }
    }
}

/* ---- Operands ---- */

static bool is_any(const struct vv_parser *p, const char *a, const char *b) {
    return vv_parser_is_word(p, a) || vv_parser_is_word(p, b);
}

/* Notes for the macro being read that it uses one of the names that a call may bring along. */
static void note_name(struct vv_parser *p) {
    if (p->macro) {
        p->macro->varargs = p->macro->varargs || vv_parser_is_word(p, "varargs");
        p->macro->kwargs = p->macro->kwargs || vv_parser_is_word(p, "kwargs");
        p->macro->caller = p->macro->caller || vv_parser_is_word(p, "caller");
    }
}

static int parse_name(struct vv_parser *p, bool members, struct vv_jinja_node **out) {
    struct vv_jinja_node *node = *out = vv_parser_node(p, VV_NODE_CONSTANT);
    if (!node) {
        return p->error->code;
    }
    if (is_any(p, "none", "None")) {
        node->value = vv_value_none(false);
    } else if (is_any(p, "true", "True") || is_any(p, "false", "False")) {
        node->value = vv_value_bool(is_any(p, "true", "True"), false);
    } else {
        node->kind = VV_NODE_NAME;
        note_name(p);
    }
    int status = vv_parser_expect_name(p, &node->name);
    if (status == VV_OK && members && node->kind == VV_NODE_NAME && p->current.kind == VV_LEX_DOT) {
        status = vv_parser_wrap(p, VV_NODE_MEMBER, out);
        status = status == VV_OK ? vv_parser_step(p) : status;
        return status == VV_OK ? vv_parser_expect_name(p, &(*out)->name) : status;
    }
    return status;
}

/* Strings one behind the other are one string. */
static int parse_string(struct vv_parser *p, struct vv_jinja_node *node) {
    const struct vv_marked *text = p->current.value.of.text;
    struct vv_buffer *buffer = NULL;
    int status = vv_parser_step(p);
    while (status == VV_OK && p->current.kind == VV_LEX_STRING) {
        if (!buffer) {
            buffer = vv_buffer_new(p->arena, text->length, p->error);
            status = buffer ? vv_buffer_add_marked(buffer, text, p->error) : p->error->code;
        }
        status = status == VV_OK ? vv_buffer_add_marked(buffer, p->current.value.of.text, p->error)
                                 : status;
        status = status == VV_OK ? vv_parser_step(p) : status;
    }
    if (status == VV_OK && buffer) {
        buffer->arena = NULL;
        text = vv_buffer_text(p->arena, buffer, 0, NULL, p->error);
    }
    node->value = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return status == VV_OK && !text ? p->error->code : status;
}

static int parse_literal(struct vv_parser *p, struct vv_jinja_node **out) {
    struct vv_jinja_node *node = *out = vv_parser_node(p, VV_NODE_CONSTANT);
    if (!node) {
        return p->error->code;
    }
    if (p->current.kind == VV_LEX_STRING) {
        return parse_string(p, node);
    }
    node->value = p->current.value;
    return vv_parser_step(p);
}

static int parse_brackets(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = vv_parser_step(p);
    status = status == VV_OK ? vv_parse_tuple(p, (struct vv_tuple_rules){.may_be_empty = true}, out)
                             : status;
    return status == VV_OK ? vv_parser_expect(p, VV_LEX_CLOSE_PAREN, "')'") : status;
}

int vv_parse_primary(struct vv_parser *p, bool members, struct vv_jinja_node **out) {
    switch (p->current.kind) {
    case VV_LEX_NAME:
        return parse_name(p, members, out);
    case VV_LEX_STRING:
    case VV_LEX_INTEGER:
    case VV_LEX_REAL:
        return parse_literal(p, out);
    case VV_LEX_OPEN_PAREN:
        return parse_brackets(p, out);
    case VV_LEX_OPEN_BRACKET:
        *out = vv_parser_node(p, VV_NODE_LIST);
        return *out ? parse_items(p, VV_LEX_CLOSE_BRACKET, vv_parse_expression, &(*out)->a)
                    : p->error->code;
    case VV_LEX_OPEN_BRACE:
        *out = vv_parser_node(p, VV_NODE_DICT);
        return *out ? parse_items(p, VV_LEX_CLOSE_BRACE, parse_pair, &(*out)->a) : p->error->code;
    default:
        return vv_parser_refuse(p, "an expression is missing here");
    }
}

static int parse_sign(struct vv_parser *p, enum vv_node_kind kind, struct vv_jinja_node **out) {
    struct vv_jinja_node *node = *out = vv_parser_node(p, kind);
    int status = node ? vv_parser_enter(p) : p->error->code;
    status = status == VV_OK ? vv_parser_step(p) : status;
    status = status == VV_OK ? vv_parse_operand(p, false, &node->a) : status;
    vv_parser_leave(p);
    return status;
}

int vv_parse_operand(struct vv_parser *p, bool with_filters, struct vv_jinja_node **out) {
    int status = p->current.kind == VV_LEX_MINUS  ? parse_sign(p, VV_NODE_NEGATIVE, out)
                 : p->current.kind == VV_LEX_PLUS ? parse_sign(p, VV_NODE_POSITIVE, out)
                                                  : vv_parse_primary(p, false, out);
    status = status == VV_OK ? parse_postfix(p, out) : status;
    return status == VV_OK && with_filters ? parse_filters_and_tests(p, out) : status;
}
