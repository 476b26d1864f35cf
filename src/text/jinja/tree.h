/* A template as a tree, which rendering goes through. */
#pragma once
#include "text/jinja/arithmetic.h"

enum vv_node_kind {
    /* Expressions. */
    VV_NODE_CONSTANT,  /* value */
    VV_NODE_NAME,      /* name */
    VV_NODE_LIST,      /* a: items */
    VV_NODE_TUPLE,     /* a: items */
    VV_NODE_DICT,      /* a: key, value, key, value … */
    VV_NODE_ATTRIBUTE, /* a.name */
    VV_NODE_ITEM,      /* a[b] */
    VV_NODE_SLICE,     /* a[b:c:d], each of b, c, d perhaps NULL */
    VV_NODE_CALL,      /* a(b: arguments) */
    VV_NODE_FILTER,    /* a|name(b: arguments); a is NULL where a block's text is filtered */
    VV_NODE_TEST,      /* a is name(b: arguments) */
    VV_NODE_NOT,       /* a */
    VV_NODE_AND,       /* a: operands */
    VV_NODE_OR,        /* a: operands */
    VV_NODE_CONDITION, /* b if a else c; c may be NULL */
    VV_NODE_NEGATIVE,  /* a */
    VV_NODE_POSITIVE,  /* a */
    VV_NODE_BINARY,    /* a, then b: operands of the left-associative operators */
    VV_NODE_COMPARE,   /* a, then b: operands of a chain of comparisons */
    /* Parts of expressions. */
    VV_NODE_OPERAND,      /* op a */
    VV_NODE_KEYWORD,      /* name=a, an argument */
    VV_NODE_SPREAD,       /* *a */
    VV_NODE_SPREAD_NAMED, /* **a */
    /* Statements. */
    VV_NODE_TEXT,       /* value */
    VV_NODE_OUTPUT,     /* a */
    VV_NODE_IF,         /* a: test, b: body, c: else, perhaps one more VV_NODE_IF */
    VV_NODE_FOR,        /* a: target, b: what to go through, c: filter or NULL, d: body, e: else */
    VV_NODE_SET,        /* a: target, b: expression */
    VV_NODE_SET_BLOCK,  /* a: target, b: filter or NULL, c: body */
    VV_NODE_MACRO,      /* name, a: parameters, b: body */
    VV_NODE_CALL_BLOCK, /* a: call, b: its body as a macro */
    VV_NODE_FILTER_BLOCK, /* a: filter, b: body */
    VV_NODE_WITH,         /* a: targets, b: their expressions, c: body */
    VV_NODE_SCOPE,        /* a: body, whose variables end with it */
    VV_NODE_BREAK,
    VV_NODE_CONTINUE,
    /* Parts of statements. A target is a VV_NODE_NAME, a VV_NODE_TUPLE of targets, or this: */
    VV_NODE_MEMBER,    /* name, of the namespace in the variable a */
    VV_NODE_PARAMETER, /* name, a: default or NULL */
};

/* `op` of a VV_NODE_OPERAND; those of enum vv_operator come first. */
enum {
    VV_CONCATENATE = VV_POWER + 1,
    VV_EQUAL,
    VV_NOT_EQUAL,
    VV_LESS,
    VV_LESS_EQUAL,
    VV_GREATER,
    VV_GREATER_EQUAL,
    VV_IN,
    VV_NOT_IN,
};

struct vv_jinja_node {
    enum vv_node_kind kind;
    int op;
    bool recursive;               /* of a loop: its body may call it */
    bool varargs, kwargs, caller; /* of a macro: which of these its body names */
    size_t at;                    /* byte of the source, for messages */
    struct vv_text name;          /* within the source */
    struct vv_value value;
    struct vv_jinja_node *a, *b, *c, *d, *e;
    struct vv_jinja_node *next; /* in a list */
};

struct vv_jinja {
    struct vv_arena arena;
    struct vv_text source; /* well-formed, lines end with '\n' */
    struct vv_jinja_node *body;
};
