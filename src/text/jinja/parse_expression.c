#include "text/jinja/parser.h"

/* ---- Operators ---- */

/* The operators between two operands, weakest first. */
static const struct {
    int level;
    enum vv_lexeme_kind kind;
    int op;
} binary_operators[] = {
    {0, VV_LEX_PLUS, VV_ADD},          {0, VV_LEX_MINUS, VV_SUBTRACT},
    {1, VV_LEX_TILDE, VV_CONCATENATE}, {2, VV_LEX_STAR, VV_MULTIPLY},
    {2, VV_LEX_SLASH, VV_DIVIDE},      {2, VV_LEX_SLASH_SLASH, VV_FLOOR_DIVIDE},
    {2, VV_LEX_PERCENT, VV_REMAINDER}, {3, VV_LEX_STAR_STAR, VV_POWER},
};
enum { BINARY_LEVELS = 4 };

/* The current token as an op of that level, or -1. */
static int binary_operator(const struct vv_parser *p, int level) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++) {
        if (binary_operators[i].level == level && binary_operators[i].kind == p->current.kind) {
            return binary_operators[i].op;
        }
    }
    return -1;
}

/* The current token, and perhaps the next, as a comparison, or -1. */
static int comparison(const struct vv_parser *p) {
    switch (p->current.kind) {
    case VV_LEX_EQUAL:
        return VV_EQUAL;
    case VV_LEX_NOT_EQUAL:
        return VV_NOT_EQUAL;
    case VV_LEX_LESS:
        return VV_LESS;
    case VV_LEX_LESS_EQUAL:
        return VV_LESS_EQUAL;
    case VV_LEX_GREATER:
        return VV_GREATER;
    case VV_LEX_GREATER_EQUAL:
        return VV_GREATER_EQUAL;
    default:
        break;
    }
    if (vv_parser_is_word(p, "in")) {
        return VV_IN;
    }
    bool in_follows = p->next.kind == VV_LEX_NAME && p->next.text.length == 2 &&
                      p->next.text.at[0] == 'i' && p->next.text.at[1] == 'n';
    return vv_parser_is_word(p, "not") && in_follows ? VV_NOT_IN : -1;
}

enum { COMPARISONS = -1 }; /* a level below those of the table */

/* Operands of one level and the operators between them, which are worked through from the left. */
static int parse_chain(struct vv_parser *p, int level, struct vv_jinja_node **out) {
    int status =
        level == BINARY_LEVELS ? vv_parse_operand(p, true, out) : parse_chain(p, level + 1, out);
    struct vv_jinja_node **tail = NULL;
    while (status == VV_OK && level < BINARY_LEVELS) {
        int op = level == COMPARISONS ? comparison(p) : binary_operator(p, level);
        if (op < 0) {
            break;
        }
        if (!tail) {
            status =
                vv_parser_wrap(p, level == COMPARISONS ? VV_NODE_COMPARE : VV_NODE_BINARY, out);
            tail = &(*out)->b;
        }
        struct vv_jinja_node *operand = status == VV_OK ? vv_parser_node(p, VV_NODE_OPERAND) : NULL;
        if (!operand) {
            return p->error->code;
        }
        operand->op = op;
        status = vv_parser_step(p);
        status = status == VV_OK && op == VV_NOT_IN ? vv_parser_step(p) : status;
        status = status == VV_OK ? parse_chain(p, level + 1, &operand->a) : status;
        *tail = operand;
        tail = &operand->next;
    }
    return status;
}

static int parse_not(struct vv_parser *p, struct vv_jinja_node **out) {
    if (!vv_parser_is_word(p, "not")) {
        return parse_chain(p, COMPARISONS, out);
    }
    struct vv_jinja_node *node = *out = vv_parser_node(p, VV_NODE_NOT);
    int status = node ? vv_parser_enter(p) : p->error->code;
    status = status == VV_OK ? vv_parser_step(p) : status;
    status = status == VV_OK ? parse_not(p, &node->a) : status;
    vv_parser_leave(p);
    return status;
}

/* Operands with `word` between them. */
static int parse_words(struct vv_parser *p, const char *word, enum vv_node_kind kind,
                       int (*parse)(struct vv_parser *p, struct vv_jinja_node **out),
                       struct vv_jinja_node **out) {
    int status = parse(p, out);
    if (status != VV_OK || !vv_parser_is_word(p, word)) {
        return status;
    }
    status = vv_parser_wrap(p, kind, out);
    struct vv_jinja_node **tail = status == VV_OK ? &(*out)->a->next : NULL;
    while (status == VV_OK && vv_parser_is_word(p, word)) {
        status = vv_parser_step(p);
        status = status == VV_OK ? parse(p, tail) : status;
        tail = status == VV_OK ? &(*tail)->next : tail;
    }
    return status;
}

static int parse_and(struct vv_parser *p, struct vv_jinja_node **out) {
    return parse_words(p, "and", VV_NODE_AND, parse_not, out);
}

static int parse_or(struct vv_parser *p, struct vv_jinja_node **out) {
    return parse_words(p, "or", VV_NODE_OR, parse_and, out);
}

/* "then if test else otherwise", behind `then`. */
static int parse_condition(struct vv_parser *p, struct vv_jinja_node **out) {
    bool more = true;
    int status = VV_OK;
    while (status == VV_OK && vv_parser_is_word(p, "if")) {
        struct vv_jinja_node *then = *out, *node = *out = vv_parser_node(p, VV_NODE_CONDITION);
        if (!node) {
            return p->error->code;
        }
        node->b = then;
        status = vv_parser_step(p);
        status = status == VV_OK ? parse_or(p, &node->a) : status;
        status = status == VV_OK ? vv_parser_take_word(p, "else", &more) : status;
        status = status == VV_OK && more ? vv_parse_expression(p, &node->c) : status;
    }
    return status;
}

int vv_parse_expression(struct vv_parser *p, struct vv_jinja_node **out) {
    int status = vv_parser_enter(p);
    status = status == VV_OK ? parse_or(p, out) : status;
    status = status == VV_OK ? parse_condition(p, out) : status;
    vv_parser_leave(p);
    return status;
}

/* ---- Tuples ---- */

static bool ends_tuple(const struct vv_parser *p, const char *word) {
    return p->current.kind == VV_LEX_CLOSE_PRINT || p->current.kind == VV_LEX_CLOSE_TAG ||
           p->current.kind == VV_LEX_CLOSE_PAREN || (word && vv_parser_is_word(p, word));
}

static int parse_member(struct vv_parser *p, struct vv_tuple_rules rules,
                        struct vv_jinja_node **out) {
    if (rules.target) {
        return vv_parse_primary(p, rules.members, out);
    }
    return rules.no_condition ? parse_or(p, out) : vv_parse_expression(p, out);
}

int vv_parse_tuple(struct vv_parser *p, struct vv_tuple_rules rules, struct vv_jinja_node **out) {
    struct vv_jinja_node *tuple = vv_parser_node(p, VV_NODE_TUPLE);
    struct vv_jinja_node **tail = tuple ? &tuple->a : NULL;
    bool comma = false;
    int status = tuple ? VV_OK : p->error->code;
    while (status == VV_OK && !ends_tuple(p, rules.end_word)) {
        status = parse_member(p, rules, tail);
        tail = status == VV_OK ? &(*tail)->next : tail;
        if (status == VV_OK && p->current.kind != VV_LEX_COMMA) {
            break;
        }
        comma = true;
        status = status == VV_OK ? vv_parser_step(p) : status;
    }
    if (status == VV_OK && !tuple->a && !rules.may_be_empty) {
        return vv_parser_refuse(p, "an expression is missing here");
    }
    *out = tuple;
    if (status == VV_OK && !comma && tuple->a) {
        *out = tuple->a;
    }
    return status;
}
