#include "text/jinja/run.h"

#include <string.h>

/* ---- Texts and lists ---- */

/* a followed by b as str() has it: in place where a's buffer ends with it. */
static int concatenate(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                       struct vv_value *out) {
    const struct vv_marked *first;
    size_t start;
    int status = vv_jinja_text(run, a, &first);
    if (status != VV_OK) {
        return status;
    }
    struct vv_buffer *buffer = vv_buffer_after(&run->arena, first, &start, run->error);
    if (!buffer) {
        return run->error->code;
    }
    size_t before = buffer->used;
    status = vv_jinja_print(run, b, buffer);
    status = status == VV_OK ? vv_jinja_charge_bytes(run, buffer->used - before) : status;
    const struct vv_marked *text =
        status == VV_OK ? vv_buffer_text(&run->arena, buffer, start, first, run->error) : NULL;
    *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
    return text ? VV_OK : run->error->code;
}

/* A store that ends with the items of `list`, to be appended to; as vv_buffer_after. */
static struct vv_store *store_after(struct vv_jinja_run *run, const struct vv_list *list,
                                    size_t more, size_t *start) {
    struct vv_store *store = list->store;
    *start = list->start;
    if (store->arena != &run->arena || list->start + list->count != store->used) {
        store = vv_arena_take(&run->arena, 1, sizeof *store, run->error);
        struct vv_value *items =
            store ? vv_arena_take(&run->arena, list->count + more, sizeof *items, run->error)
                  : NULL;
        if (!items) {
            return NULL;
        }
        memcpy(items, vv_list_items(list), list->count * sizeof *items);
        *store = (struct vv_store){&run->arena, items, list->count, list->count + more};
        *start = 0;
    }
    int status = vv_arena_grow(&run->arena, &store->items, store->used, &store->capacity,
                               store->used + more, sizeof *store->items, run->error);
    return status == VV_OK ? store : NULL;
}

static int join_lists(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                      struct vv_value *out) {
    const struct vv_list *first = a->of.list, *second = b->of.list;
    size_t start, count = first->count + second->count;
    struct vv_list *list = vv_arena_take(&run->arena, 1, sizeof *list, run->error);
    struct vv_store *store = list ? store_after(run, first, second->count, &start) : NULL;
    if (!store) {
        return run->error->code;
    }
    if (second->count > 0) {
        memcpy(store->items + store->used, vv_list_items(second),
               second->count * sizeof *store->items);
    }
    store->used += second->count;
    *list = (struct vv_list){.store = store, .start = start, .count = count};
    *out = (struct vv_value){.type = a->type, .data = a->data || b->data, .of.list = list};
    return vv_jinja_charge(run, second->count / 8);
}

/* A text or list `times` times. */
static int repeat(struct vv_jinja_run *run, const struct vv_value *value, int64_t times,
                  struct vv_value *out) {
    uint64_t left = times > 0 ? (uint64_t)times : 0;
    size_t unit = value->type == VV_VALUE_STRING ? value->of.text->length : value->of.list->count;
    if (unit > 0 && left > run->limits.memory / unit) {
        return vv_jinja_refuse(run, "a text or list is repeated too often");
    }
    int status = vv_jinja_charge(run, unit ? left : 0);
    if (value->type == VV_VALUE_STRING) {
        struct vv_buffer *buffer = vv_jinja_buffer(run, unit * left);
        status = buffer ? status : run->error->code;
        for (uint64_t i = 0; status == VV_OK && unit > 0 && i < left; i++) {
            status = vv_buffer_add_marked(buffer, value->of.text, run->error);
        }
        return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
    }
    struct vv_value *items;
    status =
        status == VV_OK ? vv_jinja_new_list(run, value->type, unit * left, &items, out) : status;
    for (uint64_t i = 0; status == VV_OK && unit > 0 && i < left; i++) {
        memcpy(items + i * unit, vv_list_items(value->of.list), unit * sizeof *items);
    }
    return status;
}

static bool is_repeatable(const struct vv_value *value) {
    return value->type == VV_VALUE_STRING || value->type == VV_VALUE_LIST ||
           value->type == VV_VALUE_TUPLE;
}

static int refuse_operands(struct vv_jinja_run *run, int op, const struct vv_value *a,
                           const struct vv_value *b) {
    static const char *const signs[] = {"+", "-", "*", "/", "//", "%", "**"};
    if (a->type == VV_VALUE_UNDEFINED || b->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, a->type == VV_VALUE_UNDEFINED ? a : b);
    }
    return vv_jinja_refuse(run, "'%s' is not possible between %s and %s", signs[op],
                           vv_jinja_type_name(a), vv_jinja_type_name(b));
}

int vv_jinja_operate(struct vv_jinja_run *run, int op, const struct vv_value *a,
                     const struct vv_value *b, struct vv_value *out) {
    int64_t times;
    if (op == VV_CONCATENATE) {
        return concatenate(run, a, b, out);
    }
    if (vv_value_is_number(a) && vv_value_is_number(b)) {
        return vv_compute((enum vv_operator)op, a, b, out, run->error);
    }
    if (op == VV_REMAINDER && a->type == VV_VALUE_STRING) {
        return vv_jinja_format(run, a->of.text, b, out);
    }
    if (op == VV_MULTIPLY && is_repeatable(a) && vv_value_as_integer(b, &times)) {
        return repeat(run, a, times, out);
    }
    if (op == VV_MULTIPLY && is_repeatable(b) && vv_value_as_integer(a, &times)) {
        return repeat(run, b, times, out);
    }
    if (op == VV_ADD && a->type == b->type && is_repeatable(a)) {
        return a->type == VV_VALUE_STRING ? concatenate(run, a, b, out)
                                          : join_lists(run, a, b, out);
    }
    return refuse_operands(run, op, a, b);
}

/* ---- Equality ---- */

static bool is_numeric(const struct vv_value *value) {
    return vv_value_is_number(value) || value->type == VV_VALUE_BIG;
}

static bool is_nan(const struct vv_value *value) {
    return value->type == VV_VALUE_REAL && value->of.real != value->of.real;
}

static int equal(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                 bool *out);

static int equal_lists(struct vv_jinja_run *run, const struct vv_list *a, const struct vv_list *b,
                       bool *out) {
    int status = vv_jinja_charge(run, a->count / 8);
    *out = a->count == b->count;
    for (size_t i = 0; status == VV_OK && *out && i < a->count; i++) {
        status = equal(run, &vv_list_items(a)[i], &vv_list_items(b)[i], out);
    }
    return status;
}

static int equal_dicts(struct vv_jinja_run *run, const struct vv_dict *a, const struct vv_dict *b,
                       bool *out) {
    int status = vv_jinja_charge(run, a->count / 8);
    *out = a->count == b->count;
    for (size_t i = 0; status == VV_OK && *out && i < a->count; i++) {
        const struct vv_value *other = vv_dict_find(b, &a->pairs[i].key);
        *out = other != NULL;
        status = other ? equal(run, &a->pairs[i].value, other, out) : VV_OK;
    }
    return status;
}

static int equal_nested(struct vv_jinja_run *run, const struct vv_value *a,
                        const struct vv_value *b, bool *out) {
    int status = vv_jinja_enter(run);
    if (status == VV_OK) {
        status = a->type == VV_VALUE_DICT ? equal_dicts(run, a->of.dict, b->of.dict, out)
                                          : equal_lists(run, a->of.list, b->of.list, out);
    }
    vv_jinja_leave(run);
    return status;
}

static int equal(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                 bool *out) {
    if (is_numeric(a) && is_numeric(b)) {
        *out = !is_nan(a) && !is_nan(b) && vv_number_order(a, b) == 0;
        return VV_OK;
    }
    *out = a->type == b->type;
    if (!*out) {
        return VV_OK;
    }
    switch (a->type) {
    case VV_VALUE_UNDEFINED:
    case VV_VALUE_NONE:
        return VV_OK;
    case VV_VALUE_STRING:
        *out = vv_text_order(vv_marked_text(a->of.text), vv_marked_text(b->of.text)) == 0;
        return vv_jinja_charge_bytes(run, a->of.text->length);
    case VV_VALUE_LIST:
    case VV_VALUE_TUPLE:
    case VV_VALUE_RANGE:
    case VV_VALUE_DICT:
        return equal_nested(run, a, b, out);
    case VV_VALUE_METHOD:
        *out = false;
        return VV_OK;
    default: /* the same one, or another */
        *out = a->of.list == b->of.list;
        return VV_OK;
    }
}

/* ---- Order ---- */

/* a < b of lists: the first items that differ decide. */
static int less_lists(struct vv_jinja_run *run, const struct vv_list *a, const struct vv_list *b,
                      int op, bool *out) {
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const struct vv_value *x = &vv_list_items(a)[i], *y = &vv_list_items(b)[i];
        bool same;
        int status = equal(run, x, y, &same);
        if (status != VV_OK || !same) {
            return status == VV_OK ? vv_jinja_compare(run, op, x, y, out) : status;
        }
    }
    int order = (a->count > b->count) - (a->count < b->count);
    *out = op == VV_LESS         ? order < 0
           : op == VV_LESS_EQUAL ? order <= 0
           : op == VV_GREATER    ? order > 0
                                 : order >= 0;
    return VV_OK;
}

static int compare_order(struct vv_jinja_run *run, int op, const struct vv_value *a,
                         const struct vv_value *b, bool *out) {
    int order;
    if (is_numeric(a) && is_numeric(b)) {
        if (is_nan(a) || is_nan(b)) {
            *out = false;
            return VV_OK;
        }
        order = vv_number_order(a, b);
    } else if (a->type == VV_VALUE_STRING && b->type == VV_VALUE_STRING) {
        order = vv_text_order(vv_marked_text(a->of.text), vv_marked_text(b->of.text));
    } else if (a->type == b->type && (a->type == VV_VALUE_LIST || a->type == VV_VALUE_TUPLE)) {
        int status = vv_jinja_enter(run);
        status = status == VV_OK ? less_lists(run, a->of.list, b->of.list, op, out) : status;
        vv_jinja_leave(run);
        return status;
    } else if (a->type == VV_VALUE_UNDEFINED || b->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, a->type == VV_VALUE_UNDEFINED ? a : b);
    } else {
        return vv_jinja_refuse(run, "%s and %s have no order", vv_jinja_type_name(a),
                               vv_jinja_type_name(b));
    }
    *out = op == VV_LESS         ? order < 0
           : op == VV_LESS_EQUAL ? order <= 0
           : op == VV_GREATER    ? order > 0
                                 : order >= 0;
    return VV_OK;
}

/* ---- in ---- */

static int contains_text(struct vv_jinja_run *run, const struct vv_marked *text,
                         const struct vv_value *part, bool *out) {
    if (part->type != VV_VALUE_STRING) {
        return vv_jinja_refuse(run, "only a text can be in a text, not %s",
                               vv_jinja_type_name(part));
    }
    *out = part->of.text->length == 0 ||
           memmem(vv_marked_bytes(text), text->length, vv_marked_bytes(part->of.text),
                  part->of.text->length) != NULL;
    return vv_jinja_charge_bytes(run, text->length);
}

static int contains(struct vv_jinja_run *run, const struct vv_value *whole,
                    const struct vv_value *part, bool *out) {
    const struct vv_value *items;
    size_t count;
    if (whole->type == VV_VALUE_STRING) {
        return contains_text(run, whole->of.text, part, out);
    }
    if (whole->type == VV_VALUE_DICT) {
        *out = vv_dict_find(whole->of.dict, part) != NULL;
        return vv_value_is_key(part)
                   ? VV_OK
                   : vv_jinja_refuse(run, "%s cannot be a key", vv_jinja_type_name(part));
    }
    int status = vv_jinja_items(run, whole, &items, &count);
    *out = false;
    for (size_t i = 0; status == VV_OK && !*out && i < count; i++) {
        status = equal(run, part, &items[i], out);
        status = status == VV_OK ? vv_jinja_charge(run, i % 4 == 0) : status;
    }
    return status;
}

int vv_jinja_compare(struct vv_jinja_run *run, int op, const struct vv_value *a,
                     const struct vv_value *b, bool *out) {
    int status;
    switch (op) {
    case VV_EQUAL:
        return equal(run, a, b, out);
    case VV_NOT_EQUAL:
        status = equal(run, a, b, out);
        *out = !*out;
        return status;
    case VV_IN:
        return contains(run, b, a, out);
    case VV_NOT_IN:
        status = contains(run, b, a, out);
        *out = !*out;
        return status;
    default:
        return compare_order(run, op, a, b, out);
    }
}
