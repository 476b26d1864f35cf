#include "text/jinja/value.h"

#include "text/jinja/arithmetic.h"
#include "text/jinja/sort.h"
#include "text/utf8.h"

#include <string.h>

enum { KEY_DEPTH = 8 }; /* tuples within one another that may be a key */

struct vv_value vv_value_none(bool data) {
    return (struct vv_value){.type = VV_VALUE_NONE, .data = data};
}

struct vv_value vv_value_bool(bool truth, bool data) {
    return (struct vv_value){.type = VV_VALUE_BOOL, .data = data, .of.truth = truth};
}

struct vv_value vv_value_integer(int64_t integer, bool data) {
    return (struct vv_value){.type = VV_VALUE_INTEGER, .data = data, .of.integer = integer};
}

struct vv_value vv_value_real(double real, bool data) {
    return (struct vv_value){.type = VV_VALUE_REAL, .data = data, .of.real = real};
}

int vv_value_string(struct vv_arena *arena, struct vv_text text, bool data, struct vv_value *out,
                    struct vv_error *error) {
    struct vv_utf8_stream stream = {0};
    struct vv_bytes bytes = {0};
    int status = vv_utf8_feed(&stream, text.at, text.length, &bytes, error);
    status = status == VV_OK ? vv_utf8_end(&stream, &bytes, error) : status;
    if (status == VV_OK) {
        struct vv_text repaired = {bytes.at, bytes.length};
        const struct vv_marked *marked = vv_marked_new(arena, repaired, data, error);
        *out = (struct vv_value){.type = VV_VALUE_STRING, .data = data, .of.text = marked};
        status = marked ? VV_OK : error->code;
    }
    vv_bytes_free(&bytes);
    return status;
}

int vv_value_list(struct vv_arena *arena, enum vv_value_type type, const struct vv_value *items,
                  size_t count, bool data, struct vv_value *out, struct vv_error *error) {
    struct vv_list *list = vv_arena_take(arena, 1, sizeof *list, error);
    struct vv_store *store = list ? vv_arena_take(arena, 1, sizeof *store, error) : NULL;
    struct vv_value *copy = store ? vv_arena_take(arena, count, sizeof *copy, error) : NULL;
    if (!copy) {
        return error->code;
    }
    if (count > 0) {
        memcpy(copy, items, count * sizeof *copy);
    }
    *store = (struct vv_store){.items = copy, .used = count, .capacity = count};
    *list = (struct vv_list){.store = store, .count = count};
    *out = (struct vv_value){.type = type, .data = data, .of.list = list};
    return VV_OK;
}

/* ---- Keys ---- */

static bool is_key(const struct vv_value *value, unsigned depth) {
    if (value->type == VV_VALUE_TUPLE) {
        const struct vv_value *items = vv_list_items(value->of.list);
        bool fine = depth > 0;
        for (size_t i = 0; fine && i < value->of.list->count; i++) {
            fine = is_key(&items[i], depth - 1);
        }
        return fine;
    }
    return value->type <= VV_VALUE_STRING;
}

bool vv_value_is_key(const struct vv_value *value) {
    return is_key(value, KEY_DEPTH);
}

int vv_text_order(struct vv_text a, struct vv_text b) {
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common > 0 ? memcmp(a.at, b.at, common) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Kinds of keys, in order: undefined and none, of which there is one each, numbers, and others. */
static int key_class(const struct vv_value *key) {
    bool number = key->type >= VV_VALUE_BOOL && key->type <= VV_VALUE_REAL;
    return number ? VV_VALUE_BOOL : (int)key->type;
}

static int order_tuples(const struct vv_list *a, const struct vv_list *b) {
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = vv_value_order(&vv_list_items(a)[i], &vv_list_items(b)[i]);
        if (order) {
            return order;
        }
    }
    return (a->count > b->count) - (a->count < b->count);
}

int vv_value_order(const struct vv_value *a, const struct vv_value *b) {
    int class = key_class(a), other = key_class(b);
    if (class != other || class <= VV_VALUE_NONE) {
        return (class > other) - (class < other);
    }
    if (class == VV_VALUE_BOOL) {
        return vv_number_order(a, b);
    }
    return class == VV_VALUE_STRING
               ? vv_text_order(vv_marked_text(a->of.text), vv_marked_text(b->of.text))
               : order_tuples(a->of.list, b->of.list);
}

/* ---- Dicts ---- */

static int comes_before(void *context, uint32_t a, uint32_t b, bool *before) {
    const struct vv_pair *pairs = context;
    *before = vv_value_order(&pairs[a].key, &pairs[b].key) < 0;
    return VV_OK;
}

/*
 * Of `pairs` [count] in the sorted order, leaves of each key one pair: in the place of the first,
 * with the value of the last. Returns how many are left; `kept` [count] says which.
 */
static size_t drop_repeated(struct vv_pair *pairs, uint32_t *sorted, size_t count, bool *kept) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t first = left > 0 ? sorted[left - 1] : 0;
        bool again = left > 0 && vv_value_order(&pairs[first].key, &pairs[sorted[i]].key) == 0;
        kept[sorted[i]] = !again;
        if (again) {
            pairs[first].value = pairs[sorted[i]].value;
        } else {
            sorted[left++] = sorted[i];
        }
    }
    return left;
}

/* Closes the gaps between the pairs kept, and makes `sorted` [left] point to where they are now. */
static void close_gaps(struct vv_pair *pairs, uint32_t *sorted, size_t count, size_t left,
                       const bool *kept, uint32_t *moved) {
    uint32_t to = 0;
    for (size_t i = 0; i < count; i++) {
        moved[i] = to;
        if (kept[i]) {
            pairs[to++] = pairs[i];
        }
    }
    for (size_t i = 0; i < left; i++) {
        sorted[i] = moved[sorted[i]];
    }
}

static int index_pairs(struct vv_arena *arena, struct vv_pair *pairs, struct vv_dict *dict,
                       struct vv_error *error) {
    size_t count = dict->count;
    uint32_t *sorted = vv_arena_take(arena, count, sizeof *sorted, error);
    uint32_t *work = sorted ? vv_arena_take(arena, count, sizeof *work, error) : NULL;
    bool *kept = work ? vv_arena_take(arena, count, sizeof *kept, error) : NULL;
    if (!kept) {
        return error->code;
    }
    vv_sort(sorted, work, count, comes_before, pairs);
    dict->count = drop_repeated(pairs, sorted, count, kept);
    if (dict->count < count) {
        close_gaps(pairs, sorted, count, dict->count, kept, work);
    }
    dict->sorted = sorted;
    return VV_OK;
}

int vv_value_dict(struct vv_arena *arena, const struct vv_pair *pairs, size_t count, bool data,
                  struct vv_value *out, struct vv_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (!vv_value_is_key(&pairs[i].key)) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "item %zu of a dict has a key that can't be "
                           "one",
                           i);
        }
    }
    struct vv_dict *dict = vv_arena_take(arena, 1, sizeof *dict, error);
    struct vv_pair *copy = dict ? vv_arena_take(arena, count, sizeof *copy, error) : NULL;
    if (!copy || count > UINT32_MAX) {
        return copy ? vv_fail_memory(error, count, "a dict") : error->code;
    }
    if (count > 0) {
        memcpy(copy, pairs, count * sizeof *copy);
    }
    *dict = (struct vv_dict){.pairs = copy, .count = count};
    *out = (struct vv_value){.type = VV_VALUE_DICT, .data = data, .of.dict = dict};
    return index_pairs(arena, copy, dict, error);
}

/* The value under the key for which `order` (of what is wanted against a key) is 0, or NULL. */
static const struct vv_value *search(const struct vv_dict *dict, const void *wanted,
                                     int (*order)(const void *wanted, const struct vv_value *key)) {
    size_t low = 0, high = dict->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct vv_pair *pair = &dict->pairs[dict->sorted[middle]];
        int found = order(wanted, &pair->key);
        if (found == 0) {
            return &pair->value;
        }
        if (found < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

static int order_value(const void *wanted, const struct vv_value *key) {
    return vv_value_order(wanted, key);
}

static int order_text(const void *wanted, const struct vv_value *key) {
    return key->type == VV_VALUE_STRING
               ? vv_text_order(*(const struct vv_text *)wanted, vv_marked_text(key->of.text))
               : VV_VALUE_STRING - key_class(key);
}

const struct vv_value *vv_dict_find(const struct vv_dict *dict, const struct vv_value *key) {
    return vv_value_is_key(key) ? search(dict, key, order_value) : NULL;
}

const struct vv_value *vv_dict_find_text(const struct vv_dict *dict, struct vv_text key) {
    return search(dict, &key, order_text);
}
