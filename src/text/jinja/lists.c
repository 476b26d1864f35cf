#include "text/jinja/builtins.h"

#include <string.h>

/* What is undefined because a sequence has no such item. */
static struct vv_value nothing(void) {
    return (struct vv_value){.type = VV_VALUE_UNDEFINED};
}

int vv_jinja_length_of(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    const struct vv_value *value = &call->values[0];
    size_t length;
    if (value->type == VV_VALUE_LOOP) {
        return vv_jinja_loop_member(run, value->of.loop, (struct vv_text){"length", 6}, NULL, out);
    }
    if (!vv_jinja_length(value, &length)) {
        return vv_jinja_refuse(run, "%s has no length", vv_jinja_type_name(value));
    }
    *out = vv_value_integer((int64_t)length, false);
    return VV_OK;
}

int vv_jinja_first(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *items;
    size_t count;
    if (value->type == VV_VALUE_ITERATOR) { /* the others stay in it */
        struct vv_jinja_iterator *iterator = value->of.iterator;
        *out = iterator->at < iterator->count ? iterator->items[iterator->at++] : nothing();
        return VV_OK;
    }
    int status = vv_jinja_items(run, value, &items, &count);
    *out = status == VV_OK && count > 0 ? items[0] : nothing();
    return status;
}

int vv_jinja_last(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                  struct vv_value *out) {
    const struct vv_value *items;
    size_t count;
    if (call->values[0].type == VV_VALUE_ITERATOR) {
        return vv_jinja_refuse(run, "an iterator has no last item: make it a list first");
    }
    int status = vv_jinja_items(run, &call->values[0], &items, &count);
    *out = status == VV_OK && count > 0 ? items[count - 1] : nothing();
    return status;
}

/* A new list of the items. */
int vv_jinja_to_list(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_value *items;
    struct vv_value *made;
    size_t count;
    int status = vv_jinja_items(run, &call->values[0], &items, &count);
    status = status == VV_OK ? vv_jinja_new_list(run, VV_VALUE_LIST, count, &made, out) : status;
    if (status == VV_OK && count > 0) {
        memcpy(made, items, count * sizeof *made);
    }
    out->data = call->values[0].data;
    return status;
}

int vv_jinja_reverse(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *items;
    size_t count;
    if (value->type == VV_VALUE_STRING) {
        struct vv_value bounds[3] = {vv_value_none(false), vv_value_none(false),
                                     vv_value_integer(-1, false)};
        return vv_jinja_slice(run, value, bounds, out);
    }
    int status = vv_jinja_items(run, value, &items, &count);
    struct vv_value *made =
        status == VV_OK ? vv_arena_take(&run->arena, count, sizeof *made, run->error) : NULL;
    for (size_t i = 0; made && i < count; i++) {
        made[i] = items[count - 1 - i];
    }
    if (!made) {
        return run->error->code;
    }
    return value->type == VV_VALUE_ITERATOR
               ? vv_value_list(&run->arena, VV_VALUE_LIST, made, count, false, out, run->error)
               : vv_jinja_new_iterator(run, made, count, out);
}

/* ---- batch and slice ---- */

/* A list of items[0 .. count) and, if `fill` is given and not none, `more` times that. */
static int filled_list(struct vv_jinja_run *run, const struct vv_value *items, size_t count,
                       const struct vv_value *fill, size_t more, struct vv_value *out) {
    struct vv_value *made;
    more = vv_is_given(fill) && fill->type != VV_VALUE_NONE ? more : 0;
    int status = vv_jinja_new_list(run, VV_VALUE_LIST, count + more, &made, out);
    if (status == VV_OK && count > 0) {
        memcpy(made, items, count * sizeof *made);
    }
    for (size_t i = 0; status == VV_OK && i < more; i++) {
        made[count + i] = *fill;
    }
    return status;
}

/* Items of the first argument, and a count of 1 or more from the second. */
static int parting(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   const struct vv_value **items, size_t *count, size_t *parts) {
    int64_t wanted;
    int status = vv_jinja_items(run, &call->values[0], items, count);
    status = status == VV_OK ? vv_jinja_want_integer(run, &call->values[1], 0, &wanted) : status;
    if (status == VV_OK && (wanted < 1 || (uint64_t)wanted > run->limits.steps)) {
        return vv_jinja_refuse(run, "a list cannot be parted like that");
    }
    *parts = status == VV_OK ? (size_t)wanted : 1;
    return status;
}

int vv_jinja_batch(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    const struct vv_value *items;
    size_t count, size;
    int status = parting(run, call, &items, &count, &size);
    size_t batches = status == VV_OK ? count / size + (count % size > 0) : 0;
    struct vv_value *made =
        status == VV_OK ? vv_arena_take(&run->arena, batches, sizeof *made, run->error) : NULL;
    status = made ? VV_OK : run->error->code;
    for (size_t i = 0; status == VV_OK && i < batches; i++) {
        size_t left = count - i * size, length = left < size ? left : size;
        status =
            filled_list(run, items + i * size, length, &call->values[2], size - length, &made[i]);
    }
    return status == VV_OK ? vv_jinja_new_iterator(run, made, batches, out) : status;
}

int vv_jinja_slice_filter(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                          struct vv_value *out) {
    const struct vv_value *items;
    size_t count, slices, at = 0;
    int status = parting(run, call, &items, &count, &slices);
    status = status == VV_OK ? vv_jinja_charge(run, slices) : status;
    struct vv_value *made =
        status == VV_OK ? vv_arena_take(&run->arena, slices, sizeof *made, run->error) : NULL;
    status = made ? VV_OK : run->error->code;
    for (size_t i = 0; status == VV_OK && i < slices; i++) {
        bool longer = i < count % slices;
        size_t length = count / slices + longer;
        status = filled_list(run, items + at, length, &call->values[2], !longer, &made[i]);
        at += length;
    }
    return status == VV_OK ? vv_jinja_new_iterator(run, made, slices, out) : status;
}

/* ---- Methods of lists ---- */

/* Items that equal the argument, and the first of them. */
static int count_equal(struct vv_jinja_run *run, const struct vv_jinja_call *call, int64_t *count,
                       int64_t *first) {
    const struct vv_list *list = call->values[0].of.list;
    int status = vv_jinja_charge(run, list->count / 4);
    *count = 0;
    *first = -1;
    for (size_t i = 0; status == VV_OK && i < list->count; i++) {
        bool same;
        status = vv_jinja_compare(run, VV_EQUAL, &vv_list_items(list)[i], &call->values[1], &same);
        *count += status == VV_OK && same;
        *first = status == VV_OK && same && *first < 0 ? (int64_t)i : *first;
    }
    return status;
}

int vv_jinja_list_index(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    int64_t count, first;
    int status = count_equal(run, call, &count, &first);
    *out = vv_value_integer(first, false);
    return status == VV_OK && count == 0
               ? vv_jinja_refuse(run, "the item that 'index' looks for is not there")
               : status;
}

int vv_jinja_list_count(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    int64_t count, first;
    int status = count_equal(run, call, &count, &first);
    *out = vv_value_integer(count, false);
    return status;
}

/* Nothing changes, so a copy is as good as the thing itself. */
int vv_jinja_copy(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                  struct vv_value *out) {
    (void)run;
    *out = call->values[0];
    return VV_OK;
}

/* ---- Dicts ---- */

int vv_jinja_dict_get(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    const struct vv_value *key = &call->values[1], *otherwise = &call->values[2];
    const struct vv_value *found = vv_dict_find(call->values[0].of.dict, key);
    if (!vv_value_is_key(key)) {
        return vv_jinja_refuse(run, "%s cannot be a key", vv_jinja_type_name(key));
    }
    *out = found ? *found : vv_is_given(otherwise) ? *otherwise : vv_value_none(false);
    return VV_OK;
}

/* Keys, values or pairs of both. */
static int view(struct vv_jinja_run *run, const struct vv_value *dict, enum vv_value_type type,
                struct vv_value *out) {
    struct vv_value *items;
    size_t count = dict->of.dict->count;
    int status = vv_jinja_new_list(run, type, count, &items, out);
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        const struct vv_pair *pair = &dict->of.dict->pairs[i];
        if (type == VV_VALUE_ITEMS) {
            status = vv_jinja_tuple2(run, &pair->key, &pair->value, &items[i]);
            items[i].data = dict->data;
        } else {
            items[i] = type == VV_VALUE_KEYS ? pair->key : pair->value;
        }
    }
    out->data = dict->data;
    return status;
}

int vv_jinja_dict_keys(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    return view(run, &call->values[0], VV_VALUE_KEYS, out);
}

int vv_jinja_dict_values(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    return view(run, &call->values[0], VV_VALUE_VALUES, out);
}

int vv_jinja_dict_items(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return view(run, &call->values[0], VV_VALUE_ITEMS, out);
}

int vv_jinja_items_filter(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                          struct vv_value *out) {
    const struct vv_value *value = &call->values[0];
    struct vv_value items;
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_new_iterator(run, value, 0, out);
    }
    if (value->type != VV_VALUE_DICT) {
        return vv_jinja_refuse(run, "'items' needs a dict, not %s", vv_jinja_type_name(value));
    }
    int status = view(run, value, VV_VALUE_ITEMS, &items);
    return status == VV_OK
               ? vv_jinja_new_iterator(run, vv_list_items(items.of.list), items.of.list->count, out)
               : status;
}
