/*
 * Inside of the interpreter: a rendering that is going on.
 *
 *   render.c      begins and ends it, and turns the output into pieces
 *   execute.c     statements;  loop.c  loops;  macro.c  macros and calls of all kinds
 *   evaluate.c    expressions;  operate.c  operators;  access.c  attributes, items, slices
 *   sequence.c    what can be gone through;  print.c  values as text
 *   builtin.c     finds built-ins by name and binds their arguments (builtins.h: what they are)
 */
#pragma once
#include "text/jinja/jinja.h"
#include "text/jinja/tree.h"

/* Variables of one scope. */
struct vv_jinja_binding {
    struct vv_text name;
    struct vv_value value;
};
struct vv_jinja_frame {
    struct vv_jinja_frame *outer;
    struct vv_jinja_binding *at;
    size_t count, capacity;
};

struct vv_jinja_run {
    const struct vv_jinja *template;
    const struct vv_jinja_options *options;
    struct vv_jinja_limits limits; /* `steps` and `depth`: what is left of them */
    struct vv_arena arena;
    struct vv_jinja_frame *frame;
    struct vv_value variables;      /* a dict */
    struct vv_buffer *out;          /* where output goes now */
    const struct vv_buffer *output; /* where it goes in the end */
    struct vv_jinja_loop *loop;     /* the innermost one that goes on */
    size_t at;                      /* byte of the source that is worked on */
    struct vv_error *error;
};

/* For "%.*s": a name that may be long. */
#define VV_JINJA_SHOW(text) (int)((text).length < 60 ? (text).length : 60), (text).at

/* VV_ERROR_INVALID with a sentence. */
int vv_jinja_refuse(struct vv_jinja_run *run, const char *format, ...) VV_PRINTF(2, 3);

/* Counts work; refuses when there are no steps left. */
int vv_jinja_charge(struct vv_jinja_run *run, size_t steps);
int vv_jinja_charge_bytes(struct vv_jinja_run *run, size_t bytes);

/* Around whatever may lie within itself; refuses when it is too deep. To be left also then. */
int vv_jinja_enter(struct vv_jinja_run *run);
void vv_jinja_leave(struct vv_jinja_run *run);

/* ---- Statements ---- */

/* How a body ended; an error is negative. */
enum { VV_FLOW_ON = 0, VV_FLOW_BREAK = 1, VV_FLOW_CONTINUE = 2 };

int vv_jinja_execute(struct vv_jinja_run *run, const struct vv_jinja_node *body);

/* The same, with the output as a text. After VV_FLOW_BREAK or VV_FLOW_CONTINUE there is none. */
int vv_jinja_capture(struct vv_jinja_run *run, const struct vv_jinja_node *body,
                     struct vv_value *out);

int vv_jinja_execute_loop(struct vv_jinja_run *run, const struct vv_jinja_node *node);

/* Gives a target its value. */
int vv_jinja_assign(struct vv_jinja_run *run, const struct vv_jinja_node *target,
                    const struct vv_value *value);
int vv_jinja_set(struct vv_jinja_run *run, struct vv_text name, const struct vv_value *value);

/* A scope within the present one; NULL fills the error. `run->frame` has to be put back. */
struct vv_jinja_frame *vv_jinja_open_frame(struct vv_jinja_run *run, struct vv_jinja_frame *outer);

/* ---- Expressions ---- */

int vv_jinja_evaluate(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                      struct vv_value *out);

bool vv_jinja_truth(const struct vv_value *value);

/* a op b; of VV_CONCATENATE and those of enum vv_operator. Python's % on texts is in format.c. */
int vv_jinja_operate(struct vv_jinja_run *run, int op, const struct vv_value *a,
                     const struct vv_value *b, struct vv_value *out);
int vv_jinja_format(struct vv_jinja_run *run, const struct vv_marked *text,
                    const struct vv_value *arguments, struct vv_value *out);

/* VV_EQUAL to VV_NOT_IN. */
int vv_jinja_compare(struct vv_jinja_run *run, int op, const struct vv_value *a,
                     const struct vv_value *b, bool *out);

/* a.name, a[key] and a[start:stop:step] (VV_VALUE_NONE where one is missing). `node` is what an
 * undefined result comes from. */
int vv_jinja_attribute(struct vv_jinja_run *run, const struct vv_value *value, struct vv_text name,
                       const struct vv_jinja_node *node, struct vv_value *out);
int vv_jinja_item(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_value *key, const struct vv_jinja_node *node,
                  struct vv_value *out);
int vv_jinja_slice(struct vv_jinja_run *run, const struct vv_value *value,
                   const struct vv_value bounds[3], struct vv_value *out);

/* What an undefined value's name is, for a sentence that begins with it. */
int vv_jinja_refuse_undefined(struct vv_jinja_run *run, const struct vv_value *value);

/* The type of a value as a sentence calls it: "a list". */
const char *vv_jinja_type_name(const struct vv_value *value);

/* ---- Sequences ---- */

/*
 * The items that a `for` goes through, in order: of a list, the characters of a text, the keys of a
 * dict. An iterator is at its end after that.
 */
int vv_jinja_items(struct vv_jinja_run *run, const struct vv_value *value,
                   const struct vv_value **items, size_t *count);

/* What len() gives; false if there is no such thing. */
bool vv_jinja_length(const struct vv_value *value, size_t *out);

/* Whether a value is a list in this program (a tuple, a range, the keys of a dict …). */
bool vv_jinja_is_list(const struct vv_value *value);

/* A new list of that type with room for `count`, to be filled at *items. */
int vv_jinja_new_list(struct vv_jinja_run *run, enum vv_value_type type, size_t count,
                      struct vv_value **items, struct vv_value *out);

/* An iterator over `items` [count], which stay where they are. */
int vv_jinja_new_iterator(struct vv_jinja_run *run, const struct vv_value *items, size_t count,
                          struct vv_value *out);
struct vv_jinja_iterator {
    const struct vv_value *items;
    size_t at, count;
};

int vv_jinja_tuple2(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                    struct vv_value *out);

/* ---- Text ---- */

/* Appends a value as str() or repr() writes it. */
int vv_jinja_print(struct vv_jinja_run *run, const struct vv_value *value, struct vv_buffer *out);
int vv_jinja_print_repr(struct vv_jinja_run *run, const struct vv_value *value,
                        struct vv_buffer *out);

/* str(value): the text itself if it is one. */
int vv_jinja_text(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_marked **out);

struct vv_buffer *vv_jinja_buffer(struct vv_jinja_run *run, size_t room);

/* All of a buffer as a value. */
int vv_jinja_finish(struct vv_jinja_run *run, struct vv_buffer *buffer, struct vv_value *out);

/* Bytes start … start + length of a text as a value. */
int vv_jinja_part(struct vv_jinja_run *run, const struct vv_marked *text, size_t start,
                  size_t length, struct vv_value *out);

/* A text of the template's own. */
int vv_jinja_own_text(struct vv_jinja_run *run, const char *text, struct vv_value *out);

/* ---- Calls ---- */

struct vv_jinja_named {
    struct vv_text name;
    bool data; /* the name comes from the data: **a */
    struct vv_value value;
};

struct vv_jinja_call {
    const struct vv_value *values; /* [count]; of filters, tests and methods the first is what they
                                      are applied to */
    size_t count;
    const struct vv_jinja_named *named;
    size_t named_count;
};

typedef int vv_jinja_function(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                              struct vv_value *out);

/*
 * `parameters` are the names of what comes after the first value, with a blank between them; the
 * first `least` must be given. `call` then gets all of them in their places, VV_VALUE_ABSENT where
 * one is missing. With NULL it gets what there is.
 */
struct vv_jinja_builtin {
    const char *name;
    vv_jinja_function *call;
    const char *parameters;
    unsigned least;
};
enum { VV_JINJA_PARAMETERS = 8 }; /* at most, with the first value */

/* tables.c; they end with a name of NULL. */
extern const struct vv_jinja_builtin vv_jinja_filters[], vv_jinja_tests[], vv_jinja_functions[],
    vv_jinja_text_methods[], vv_jinja_dict_methods[], vv_jinja_list_methods[],
    vv_jinja_tuple_methods[], vv_jinja_loop_methods[];

const struct vv_jinja_builtin *vv_jinja_find_builtin(const struct vv_jinja_builtin *table,
                                                     struct vv_text name);

/* Calls a built-in with its parameters in place. */
int vv_jinja_call_builtin(struct vv_jinja_run *run, const struct vv_jinja_builtin *builtin,
                          const struct vv_jinja_call *call, struct vv_value *out);

/* A filter or a test by name. */
int vv_jinja_apply_filter(struct vv_jinja_run *run, struct vv_text name,
                          const struct vv_jinja_call *call, struct vv_value *out);
int vv_jinja_apply_test(struct vv_jinja_run *run, struct vv_text name,
                        const struct vv_jinja_call *call, bool *out);

/* The arguments of a call; `first` comes before them unless it is NULL. */
int vv_jinja_arguments(struct vv_jinja_run *run, const struct vv_jinja_node *arguments,
                       const struct vv_value *first, struct vv_jinja_call *out);

/* A named argument as an item of a dict. */
int vv_jinja_named_pair(struct vv_jinja_run *run, const struct vv_jinja_named *named,
                        struct vv_pair *out);

/* callee(…) */
int vv_jinja_call_value(struct vv_jinja_run *run, const struct vv_value *callee,
                        const struct vv_jinja_call *call, struct vv_value *out);

struct vv_jinja_method {
    const struct vv_jinja_builtin *builtin;
    struct vv_value self;
};

struct vv_jinja_macro {
    const struct vv_jinja_node *node;
    struct vv_jinja_frame *frame; /* where it was defined */
};

int vv_jinja_new_macro(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                       struct vv_value *out);
int vv_jinja_call_macro(struct vv_jinja_run *run, const struct vv_jinja_macro *macro,
                        const struct vv_jinja_call *call, struct vv_value *out);

/* ---- Namespaces and loops ---- */

struct vv_jinja_namespace {
    struct vv_jinja_frame members;
    bool data; /* a name comes from the data: namespace(message) */
};

struct vv_jinja_binding *vv_jinja_find_binding(struct vv_jinja_run *run,
                                               const struct vv_jinja_frame *frame,
                                               struct vv_text name);
int vv_jinja_set_in(struct vv_jinja_run *run, struct vv_jinja_frame *frame, struct vv_text name,
                    const struct vv_value *value);

/* loop.name; `*out` is undefined if there is no such thing. */
int vv_jinja_loop_member(struct vv_jinja_run *run, struct vv_jinja_loop *loop, struct vv_text name,
                         const struct vv_jinja_node *node, struct vv_value *out);

/* loop(items), of a recursive loop. */
int vv_jinja_call_loop(struct vv_jinja_run *run, struct vv_jinja_loop *loop,
                       const struct vv_jinja_call *call, struct vv_value *out);

/* The dict that the innermost loop stands at that stands at one of the items of options->counted.
 */
bool vv_jinja_counted_item(const struct vv_jinja_run *run, size_t *index);

/* ---- Small things that built-ins share ---- */

static inline bool vv_text_is(struct vv_text text, const char *word) {
    size_t i = 0;
    while (i < text.length && word[i] && text.at[i] == word[i]) {
        i++;
    }
    return i == text.length && !word[i];
}

static inline bool vv_is_given(const struct vv_value *value) {
    return value->type != VV_VALUE_ABSENT;
}

/* An argument that must be an integer (if given, and else is `otherwise`), or a text. */
int vv_jinja_want_integer(struct vv_jinja_run *run, const struct vv_value *value, int64_t otherwise,
                          int64_t *out);
int vv_jinja_want_text(struct vv_jinja_run *run, const struct vv_value *value,
                       const struct vv_marked **out);

/* value["a.b.0"], as filters take an attribute; an integer is an index. `otherwise` replaces what
 * is undefined on the way, unless it is NULL. */
int vv_jinja_path(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_value *path, const struct vv_value *otherwise,
                  struct vv_value *out);

/* A text in small letters, for comparisons that don't tell case; any other value as it is. */
int vv_jinja_fold(struct vv_jinja_run *run, const struct vv_value *value, struct vv_value *out);
