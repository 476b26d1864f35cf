#include "text/jinja/parser.h"

#include "text/jinja/compile.h"

#include <string.h>

enum { MOST_PARAMETERS = 255 };

static int parse_body(struct vv_parser *p, const char *end, const char *other_end,
                      struct vv_jinja_node **out);

/* ---- Tools ---- */

int vv_parser_refuse(struct vv_parser *p, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vv_fail_va(p->error, VV_ERROR_INVALID, format, list);
    va_end(list);
    p->at = p->current.at;
    return VV_ERROR_INVALID;
}

int vv_parser_step(struct vv_parser *p) {
    p->current = p->next;
    int status = vv_lexer_next(&p->lexer, &p->next, p->error);
    p->at = status == VV_OK ? p->at : p->lexer.at;
    return status;
}

static bool is(struct vv_text text, const char *word) {
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

bool vv_parser_is_word(const struct vv_parser *p, const char *word) {
    return p->current.kind == VV_LEX_NAME && is(p->current.text, word);
}

int vv_parser_take(struct vv_parser *p, enum vv_lexeme_kind kind, bool *taken) {
    *taken = p->current.kind == kind;
    return *taken ? vv_parser_step(p) : VV_OK;
}

int vv_parser_take_word(struct vv_parser *p, const char *word, bool *taken) {
    *taken = vv_parser_is_word(p, word);
    return *taken ? vv_parser_step(p) : VV_OK;
}

int vv_parser_expect(struct vv_parser *p, enum vv_lexeme_kind kind, const char *what) {
    return p->current.kind == kind ? vv_parser_step(p)
                                   : vv_parser_refuse(p, "%s is missing here", what);
}

int vv_parser_expect_name(struct vv_parser *p, struct vv_text *name) {
    *name = p->current.text;
    return vv_parser_expect(p, VV_LEX_NAME, "a name");
}

struct vv_jinja_node *vv_parser_node(struct vv_parser *p, enum vv_node_kind kind) {
    struct vv_jinja_node *node = vv_arena_take(p->arena, 1, sizeof *node, p->error);
    if (node) {
        *node = (struct vv_jinja_node){.kind = kind, .at = p->current.at};
    }
    return node;
}

int vv_parser_enter(struct vv_parser *p) {
    p->depth++;
    return p->depth <= VV_PARSER_NEST ? VV_OK : vv_parser_refuse(p, "this is nested too deeply");
}

void vv_parser_leave(struct vv_parser *p) {
    p->depth--;
}

/* ---- Tags: from the tag's name to what closes the tag ---- */

/* The end of a tag, a body up to {% end %}, and the word `end`. */
static int parse_block(struct vv_parser *p, const char *end, struct vv_jinja_node **body) {
    int status = parse_body(p, end, NULL, body);
    return status == VV_OK ? vv_parser_step(p) : status;
}

/* A condition and its body; `node` goes on to the last {% elif %}. */
static int parse_branches(struct vv_parser *p, struct vv_jinja_node **node) {
    struct vv_tuple_rules rules = {.no_condition = true};
    for (;;) {
        int status = vv_parser_step(p); /* "if" or "elif" */
        status = status == VV_OK ? vv_parse_tuple(p, rules, &(*node)->a) : status;
        status = status == VV_OK ? parse_body(p, "endif", "else", &(*node)->b) : status;
        if (status != VV_OK || !vv_parser_is_word(p, "elif")) {
            return status;
        }
        (*node)->c = vv_parser_node(p, VV_NODE_IF);
        if (!(*node)->c) {
            return p->error->code;
        }
        *node = (*node)->c;
    }
}

static int parse_if(struct vv_parser *p, struct vv_jinja_node *node) {
    bool other = false;
    int status = parse_branches(p, &node);
    status = status == VV_OK ? vv_parser_take_word(p, "else", &other) : status;
    if (status != VV_OK || !other) {
        return status == VV_OK ? vv_parser_step(p) : status; /* "endif" */
    }
    return parse_block(p, "endif", &node->c);
}

static int check_target(struct vv_parser *p, const struct vv_jinja_node *target) {
    if (target->kind == VV_NODE_TUPLE) {
        int status = VV_OK;
        for (const struct vv_jinja_node *a = target->a; status == VV_OK && a; a = a->next) {
            status = check_target(p, a);
        }
        return status;
    }
    return target->kind == VV_NODE_NAME || target->kind == VV_NODE_MEMBER
               ? VV_OK
               : vv_parser_refuse(p, "only a variable can be given a value");
}

static int parse_target(struct vv_parser *p, bool members, const char *end_word,
                        struct vv_jinja_node **out) {
    struct vv_tuple_rules rules = {.target = true, .members = members, .end_word = end_word};
    int status = vv_parse_tuple(p, rules, out);
    return status == VV_OK ? check_target(p, *out) : status;
}

/* Whether a target names the variable that every loop sets itself. */
static bool names_loop(const struct vv_jinja_node *target) {
    bool found = target->kind == VV_NODE_NAME && is(target->name, "loop");
    for (const struct vv_jinja_node *a = target->a; target->kind == VV_NODE_TUPLE && a;
         a = a->next) {
        found = found || names_loop(a);
    }
    return found;
}

static int parse_for_head(struct vv_parser *p, struct vv_jinja_node *node) {
    bool filtered = false;
    int status = vv_parser_step(p);
    status = status == VV_OK ? parse_target(p, false, "in", &node->a) : status;
    if (status == VV_OK && names_loop(node->a)) {
        return vv_parser_refuse(p, "a loop's target cannot be called 'loop'");
    }
    if (status == VV_OK && !vv_parser_is_word(p, "in")) {
        return vv_parser_refuse(p, "'in' is missing here");
    }
    struct vv_tuple_rules rules = {.no_condition = true, .end_word = "recursive"};
    status = status == VV_OK ? vv_parser_step(p) : status;
    status = status == VV_OK ? vv_parse_tuple(p, rules, &node->b) : status;
    status = status == VV_OK ? vv_parser_take_word(p, "if", &filtered) : status;
    status = status == VV_OK && filtered ? vv_parse_expression(p, &node->c) : status;
    return status == VV_OK ? vv_parser_take_word(p, "recursive", &node->recursive) : status;
}

static int parse_for(struct vv_parser *p, struct vv_jinja_node *node) {
    unsigned loops = p->loops;
    int status = parse_for_head(p, node);
    /* A recursive loop may be called in the middle of an expression. */
    p->loops = node->recursive ? 1 : loops + 1;
    status = status == VV_OK ? parse_body(p, "endfor", "else", &node->d) : status;
    p->loops--;
    bool other = vv_parser_is_word(p, "else");
    status = status == VV_OK ? vv_parser_step(p) : status;
    status = status == VV_OK && other ? parse_block(p, "endfor", &node->e) : status;
    p->loops = loops;
    return status;
}

static int parse_set(struct vv_parser *p, struct vv_jinja_node *node) {
    bool assign = false;
    int status = vv_parser_step(p);
    status = status == VV_OK ? parse_target(p, true, NULL, &node->a) : status;
    status = status == VV_OK ? vv_parser_take(p, VV_LEX_ASSIGN, &assign) : status;
    if (status == VV_OK && assign) {
        return vv_parse_tuple(p, (struct vv_tuple_rules){0}, &node->b);
    }
    node->kind = VV_NODE_SET_BLOCK;
    status = status == VV_OK ? vv_parse_filters(p, false, &node->b) : status;
    return status == VV_OK ? parse_block(p, "endset", &node->c) : status;
}

static int parse_parameter(struct vv_parser *p, bool *defaults, struct vv_jinja_node **out) {
    bool assign = false;
    struct vv_jinja_node *node = *out = vv_parser_node(p, VV_NODE_PARAMETER);
    int status = node ? vv_parser_expect_name(p, &node->name) : p->error->code;
    status = status == VV_OK ? vv_parser_take(p, VV_LEX_ASSIGN, &assign) : status;
    if (status == VV_OK && !assign && *defaults) {
        return vv_parser_refuse(p, "a parameter without a default follows one that has one");
    }
    *defaults = *defaults || assign;
    return status == VV_OK && assign ? vv_parse_expression(p, &node->a) : status;
}

/* Whether the last of the parameters is new among them, and there are not too many. */
static int check_parameter(struct vv_parser *p, const struct vv_jinja_node *macro,
                           const struct vv_jinja_node *last) {
    size_t count = 1;
    for (const struct vv_jinja_node *a = macro->a; a != last; a = a->next, count++) {
        if (vv_text_order(a->name, last->name) == 0) {
            return vv_parser_refuse(p, "two parameters have the same name");
        }
    }
    return count <= MOST_PARAMETERS
               ? VV_OK
               : vv_parser_refuse(p, "a macro has at most %d parameters", MOST_PARAMETERS);
}

static int parse_parameters(struct vv_parser *p, struct vv_jinja_node *macro) {
    bool defaults = false;
    struct vv_jinja_node **tail = &macro->a;
    int status = vv_parser_expect(p, VV_LEX_OPEN_PAREN, "'('");
    while (status == VV_OK && p->current.kind != VV_LEX_CLOSE_PAREN) {
        if (macro->a) {
            status = vv_parser_expect(p, VV_LEX_COMMA, "',' or ')'");
        }
        status = status == VV_OK ? parse_parameter(p, &defaults, tail) : status;
        status = status == VV_OK ? check_parameter(p, macro, *tail) : status;
        tail = status == VV_OK ? &(*tail)->next : tail;
    }
    return status == VV_OK ? vv_parser_step(p) : status;
}

/* A macro's body, which no {% break %} leaves; what it names, the macro around it names too. */
static int parse_macro_body(struct vv_parser *p, struct vv_jinja_node *macro, const char *end) {
    struct vv_jinja_node *outer = p->macro;
    unsigned loops = p->loops;
    p->macro = macro;
    p->loops = 0;
    int status = parse_block(p, end, &macro->b);
    p->loops = loops;
    p->macro = outer;
    if (outer) {
        outer->varargs = outer->varargs || macro->varargs;
        outer->kwargs = outer->kwargs || macro->kwargs;
        outer->caller = outer->caller || macro->caller;
    }
    return status;
}

static int parse_macro(struct vv_parser *p, struct vv_jinja_node *node) {
    int status = vv_parser_step(p);
    status = status == VV_OK ? vv_parser_expect_name(p, &node->name) : status;
    status = status == VV_OK ? parse_parameters(p, node) : status;
    return status == VV_OK ? parse_macro_body(p, node, "endmacro") : status;
}

static int parse_call_block(struct vv_parser *p, struct vv_jinja_node *node) {
    struct vv_jinja_node *macro = node->b = vv_parser_node(p, VV_NODE_MACRO);
    if (!macro) {
        return p->error->code;
    }
    macro->name = (struct vv_text){"caller", 6};
    int status = vv_parser_step(p);
    if (status == VV_OK && p->current.kind == VV_LEX_OPEN_PAREN) {
        status = parse_parameters(p, macro);
    }
    status = status == VV_OK ? vv_parse_expression(p, &node->a) : status;
    if (status == VV_OK && node->a->kind != VV_NODE_CALL) {
        return vv_parser_refuse(p, "{%% call %%} needs the call of a macro");
    }
    return status == VV_OK ? parse_macro_body(p, macro, "endcall") : status;
}

static int parse_filter_block(struct vv_parser *p, struct vv_jinja_node *node) {
    int status = vv_parser_step(p);
    status = status == VV_OK ? vv_parse_filters(p, true, &node->a) : status;
    return status == VV_OK ? parse_block(p, "endfilter", &node->b) : status;
}

static int parse_with(struct vv_parser *p, struct vv_jinja_node *node) {
    struct vv_jinja_node **target = &node->a, **value = &node->b;
    int status = vv_parser_step(p);
    while (status == VV_OK && p->current.kind != VV_LEX_CLOSE_TAG) {
        if (node->a) {
            status = vv_parser_expect(p, VV_LEX_COMMA, "','");
        }
        status = status == VV_OK ? parse_target(p, false, NULL, target) : status;
        status = status == VV_OK ? vv_parser_expect(p, VV_LEX_ASSIGN, "'='") : status;
        status = status == VV_OK ? vv_parse_expression(p, value) : status;
        if (status == VV_OK) {
            target = &(*target)->next;
            value = &(*value)->next;
        }
    }
    return status == VV_OK ? parse_block(p, "endwith", &node->c) : status;
}

/* What the model itself would write: the mark is for training, here it is only a scope. */
static int parse_generation(struct vv_parser *p, struct vv_jinja_node *node) {
    unsigned loops = p->loops;
    p->loops = 0;
    int status = vv_parser_step(p);
    status = status == VV_OK ? parse_block(p, "endgeneration", &node->a) : status;
    p->loops = loops;
    return status;
}

static int parse_loop_control(struct vv_parser *p, struct vv_jinja_node *node) {
    (void)node;
    return p->loops > 0
               ? vv_parser_step(p)
               : vv_parser_refuse(p, "there is no loop around this to leave or go on with");
}

static const struct {
    const char *name;
    enum vv_node_kind kind;
    int (*parse)(struct vv_parser *p, struct vv_jinja_node *node);
} tags[] = {
    {"if", VV_NODE_IF, parse_if},
    {"for", VV_NODE_FOR, parse_for},
    {"set", VV_NODE_SET, parse_set},
    {"macro", VV_NODE_MACRO, parse_macro},
    {"call", VV_NODE_CALL_BLOCK, parse_call_block},
    {"filter", VV_NODE_FILTER_BLOCK, parse_filter_block},
    {"with", VV_NODE_WITH, parse_with},
    {"generation", VV_NODE_SCOPE, parse_generation},
    {"break", VV_NODE_BREAK, parse_loop_control},
    {"continue", VV_NODE_CONTINUE, parse_loop_control},
};

static int parse_tag(struct vv_parser *p, struct vv_jinja_node **out) {
    if (p->current.kind != VV_LEX_NAME) {
        return vv_parser_refuse(p, "the name of a tag is missing here");
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (vv_parser_is_word(p, tags[i].name)) {
            *out = vv_parser_node(p, tags[i].kind);
            int status = *out ? vv_parser_enter(p) : p->error->code;
            status = status == VV_OK ? tags[i].parse(p, *out) : status;
            vv_parser_leave(p);
            return status == VV_OK ? vv_parser_expect(p, VV_LEX_CLOSE_TAG, "the end of this tag")
                                   : status;
        }
    }
    return vv_parser_refuse(p, "there is no tag '%.*s' to be opened or closed here",
                            p->current.text.length < 40 ? (int)p->current.text.length : 40,
                            p->current.text.at);
}

/* ---- Bodies ---- */

static int parse_output(struct vv_parser *p, struct vv_jinja_node **out) {
    struct vv_jinja_node *node = *out = vv_parser_node(p, VV_NODE_OUTPUT);
    int status = node ? vv_parser_step(p) : p->error->code;
    status = status == VV_OK ? vv_parse_tuple(p, (struct vv_tuple_rules){0}, &node->a) : status;
    return status == VV_OK ? vv_parser_expect(p, VV_LEX_CLOSE_PRINT, "'}}'") : status;
}

static int parse_text(struct vv_parser *p, struct vv_jinja_node **out) {
    *out = vv_parser_node(p, VV_NODE_TEXT);
    if (!*out) {
        return p->error->code;
    }
    (*out)->value = p->current.value;
    return vv_parser_step(p);
}

/* Statements up to one of the end words (NULL: up to the end), or "elif" beside "else". */
static int parse_statements(struct vv_parser *p, const char *end, const char *other_end,
                            struct vv_jinja_node **tail) {
    for (int status = VV_OK; status == VV_OK; tail = *tail ? &(*tail)->next : tail) {
        switch (p->current.kind) {
        case VV_LEX_TEXT:
            status = parse_text(p, tail);
            break;
        case VV_LEX_OPEN_PRINT:
            status = parse_output(p, tail);
            break;
        case VV_LEX_OPEN_TAG:
            status = vv_parser_step(p);
            if (status == VV_OK && end &&
                (vv_parser_is_word(p, end) || (other_end && vv_parser_is_word(p, other_end)) ||
                 (strcmp(end, "endif") == 0 && other_end && vv_parser_is_word(p, "elif")))) {
                return VV_OK;
            }
            status = status == VV_OK ? parse_tag(p, tail) : status;
            break;
        default:
            return end ? vv_parser_refuse(p, "the template ends before {%% %s %%}", end) : VV_OK;
        }
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static int parse_body(struct vv_parser *p, const char *end, const char *other_end,
                      struct vv_jinja_node **out) {
    bool colon;
    int status = vv_parser_take(p, VV_LEX_COLON, &colon);
    status =
        status == VV_OK ? vv_parser_expect(p, VV_LEX_CLOSE_TAG, "the end of this tag") : status;
    return status == VV_OK ? parse_statements(p, end, other_end, out) : status;
}

int vv_jinja_parse(struct vv_jinja *template, size_t *wrong, struct vv_error *error) {
    struct vv_parser p = {.lexer = {.source = template->source, .arena = &template->arena},
                          .arena = &template->arena,
                          .error = error};
    int status = vv_parser_step(&p);
    status = status == VV_OK ? vv_parser_step(&p) : status;
    status = status == VV_OK ? parse_statements(&p, NULL, NULL, &template->body) : status;
    *wrong = p.at;
    return status;
}
