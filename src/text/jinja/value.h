/*
 * What a template computes with. A value never changes once it is made (a namespace is the only
 * exception, and only a template can make one), so the same values may serve several renderings,
 * also at the same time.
 */
#pragma once
#include "text/jinja/marked.h"

enum vv_value_type {
    VV_VALUE_UNDEFINED,
    VV_VALUE_NONE,
    VV_VALUE_BOOL,
    VV_VALUE_INTEGER,
    VV_VALUE_BIG, /* an integer beyond 64 bits, as its digits: it can be passed on and written */
    VV_VALUE_REAL,
    VV_VALUE_STRING,
    VV_VALUE_LIST,
    VV_VALUE_TUPLE,
    VV_VALUE_DICT,
    /* What only a template makes: */
    VV_VALUE_RANGE, /* range(…) */
    VV_VALUE_KEYS,  /* of a dict: keys(), values(), items() */
    VV_VALUE_VALUES,
    VV_VALUE_ITEMS,
    VV_VALUE_ITERATOR, /* what map, select and others give: it can be gone through once */
    VV_VALUE_NAMESPACE,
    VV_VALUE_LOOP,
    VV_VALUE_MACRO,
    VV_VALUE_FUNCTION,
    VV_VALUE_METHOD,
    VV_VALUE_ABSENT, /* an argument that was not given */
};

struct vv_list;
struct vv_dict;

struct vv_value {
    enum vv_value_type type;
    bool data; /* comes from the data; in texts each stretch says so for itself */
    union {
        bool truth;
        int64_t integer;
        double real;
        const struct vv_marked *text; /* string and big */
        const struct vv_list *list;   /* list to items, but dict */
        const struct vv_dict *dict;
        struct vv_jinja_iterator *iterator;
        struct vv_jinja_namespace *space;
        struct vv_jinja_loop *loop;
        const struct vv_jinja_macro *macro;
        const struct vv_jinja_builtin *function;
        const struct vv_jinja_method *method;
        const struct vv_jinja_node *node; /* undefined: the expression that gave it, or NULL */
    } of;
};

/* Grows behind a list as a buffer does behind a text. */
struct vv_store {
    struct vv_arena *arena; /* NULL: it stays as it is */
    struct vv_value *items;
    size_t used, capacity;
};

struct vv_list {
    struct vv_store *store;
    size_t start, count;
    bool group; /* what groupby gives: a tuple whose two items have names, "grouper" and "list" */
};

struct vv_pair {
    struct vv_value key, value;
};

struct vv_dict {
    const struct vv_pair *pairs; /* [count] in the order in which the keys first came */
    const uint32_t *sorted;      /* [count] indices of `pairs` in ascending order of the keys */
    size_t count;
};

static inline const struct vv_value *vv_list_items(const struct vv_list *list) {
    return list->store->items + list->start;
}

/* ---- Making them. `data`: they come from the data, and are not the template's own ---- */

struct vv_value vv_value_none(bool data);
struct vv_value vv_value_bool(bool truth, bool data);
struct vv_value vv_value_integer(int64_t integer, bool data);
struct vv_value vv_value_real(double real, bool data);

/* A copy of any bytes; ill-formed UTF-8 is repaired as in text/utf8.h. */
int vv_value_string(struct vv_arena *arena, struct vv_text text, bool data, struct vv_value *out,
                    struct vv_error *error);

/* VV_VALUE_LIST, or another type that is a list; `items` are copied. */
int vv_value_list(struct vv_arena *arena, enum vv_value_type type,
                  const struct vv_value *items /* [count] */, size_t count, bool data,
                  struct vv_value *out, struct vv_error *error);

/*
 * `pairs` are copied; of equal keys the last one's value counts. VV_ERROR_INVALID: a key that can't
 * be one (a list, a dict …).
 */
int vv_value_dict(struct vv_arena *arena, const struct vv_pair *pairs /* [count] */, size_t count,
                  bool data, struct vv_value *out, struct vv_error *error);

/* A JSON text (RFC 8259) as a value. */
int vv_value_json(struct vv_arena *arena, struct vv_text json, bool data, struct vv_value *out,
                  struct vv_error *error);

/* ---- Looking into them ---- */

/* The value under a key, or NULL. */
const struct vv_value *vv_dict_find(const struct vv_dict *dict, const struct vv_value *key);
const struct vv_value *vv_dict_find_text(const struct vv_dict *dict, struct vv_text key);

/* Whether a value may be a key: numbers, strings, none, undefined, and tuples of these. */
bool vv_value_is_key(const struct vv_value *value);

/* An order of all keys: below, equal or above 0. Keys are the same if Python's == says so. */
int vv_value_order(const struct vv_value *a, const struct vv_value *b);

/* Which of two texts comes first, by characters: below, equal or above 0. */
int vv_text_order(struct vv_text a, struct vv_text b);
