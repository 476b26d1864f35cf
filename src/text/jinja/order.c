#include "text/jinja/builtins.h"
#include "text/jinja/sort.h"

#include <string.h>

/* Items and what they are ordered by, one key an item. */
struct ordered {
    struct vv_jinja_run *run;
    const struct vv_value *items;
    struct vv_value *keys;
    uint32_t *order;
    size_t count;
    bool reverse;
};

static bool given_true(const struct vv_value *value) {
    return vv_is_given(value) && vv_jinja_truth(value);
}

static int take_items(struct vv_jinja_run *run, const struct vv_value *value, struct ordered *out) {
    out->run = run;
    int status = vv_jinja_items(run, value, &out->items, &out->count);
    if (status != VV_OK || out->count > UINT32_MAX) {
        return status == VV_OK ? vv_jinja_refuse(run, "the list is too long") : status;
    }
    out->keys = vv_arena_take(&run->arena, out->count, sizeof *out->keys, run->error);
    return out->keys ? vv_jinja_charge(run, out->count) : run->error->code;
}

/* The keys: attributes of the items (or these themselves), in small letters unless `exact`. */
static int take_keys(struct ordered *o, const struct vv_value *attribute, bool exact,
                     const struct vv_value *otherwise) {
    int status = VV_OK;
    for (size_t i = 0; status == VV_OK && i < o->count; i++) {
        struct vv_value key;
        status = vv_jinja_path(o->run, &o->items[i], attribute, otherwise, &key);
        status = status == VV_OK && !exact ? vv_jinja_fold(o->run, &key, &o->keys[i]) : status;
        o->keys[i] = exact ? key : o->keys[i];
    }
    return status;
}

/* For sort: each key a list, of the attributes that `attribute` names with commas between them. */
static int take_key_lists(struct ordered *o, const struct vv_value *attribute, bool exact) {
    struct vv_value names = *attribute, one;
    int status = VV_OK;
    if (attribute->type == VV_VALUE_STRING) {
        struct vv_value comma, no_limit = {.type = VV_VALUE_ABSENT};
        status = vv_jinja_own_text(o->run, ",", &comma);
        struct vv_value arguments[] = {*attribute, comma, no_limit};
        status =
            status == VV_OK
                ? vv_jinja_split(o->run, &(struct vv_jinja_call){arguments, 3, NULL, 0}, &names)
                : status;
    } else {
        one = *attribute;
        status =
            vv_value_list(&o->run->arena, VV_VALUE_LIST, &one, 1, false, &names, o->run->error);
    }
    for (size_t i = 0; status == VV_OK && i < o->count; i++) {
        struct vv_value *parts;
        status =
            vv_jinja_new_list(o->run, VV_VALUE_LIST, names.of.list->count, &parts, &o->keys[i]);
        for (size_t k = 0; status == VV_OK && k < names.of.list->count; k++) {
            struct vv_value part;
            const struct vv_value *name = &vv_list_items(names.of.list)[k];
            status = vv_jinja_path(o->run, &o->items[i], name, NULL, &part);
            status = status == VV_OK && !exact ? vv_jinja_fold(o->run, &part, &parts[k]) : status;
            parts[k] = exact ? part : parts[k];
        }
    }
    return status;
}

static int key_before(void *context, uint32_t a, uint32_t b, bool *before) {
    struct ordered *o = context;
    int status = vv_jinja_charge(o->run, 1);
    return status == VV_OK ? vv_jinja_compare(o->run, o->reverse ? VV_GREATER : VV_LESS,
                                              &o->keys[a], &o->keys[b], before)
                           : status;
}

/* Puts the items in the order of their keys. */
static int order(struct ordered *o) {
    struct vv_jinja_run *run = o->run;
    uint32_t *work = vv_arena_take(&run->arena, o->count, sizeof *work, run->error);
    o->order = work ? vv_arena_take(&run->arena, o->count, sizeof *o->order, run->error) : NULL;
    return o->order ? vv_sort(o->order, work, o->count, key_before, o) : run->error->code;
}

static int ordered_list(const struct ordered *o, struct vv_value *out) {
    struct vv_value *items;
    int status = vv_jinja_new_list(o->run, VV_VALUE_LIST, o->count, &items, out);
    for (size_t i = 0; status == VV_OK && i < o->count; i++) {
        items[i] = o->items[o->order[i]];
    }
    return status;
}

int vv_jinja_sort(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                  struct vv_value *out) {
    struct ordered o = {.reverse = given_true(&call->values[1])};
    int status = take_items(run, &call->values[0], &o);
    status = status == VV_OK ? take_key_lists(&o, &call->values[3], given_true(&call->values[2]))
                             : status;
    status = status == VV_OK ? order(&o) : status;
    return status == VV_OK ? ordered_list(&o, out) : status;
}

int vv_jinja_dictsort(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    const struct vv_value *by = &call->values[2];
    struct ordered o = {.reverse = given_true(&call->values[3])};
    struct vv_value items, place = vv_value_integer(0, false);
    if (call->values[0].type != VV_VALUE_DICT) {
        return vv_jinja_refuse(run, "'dictsort' needs a dict, not %s",
                               vv_jinja_type_name(&call->values[0]));
    }
    if (vv_is_given(by)) {
        bool text = by->type == VV_VALUE_STRING;
        place.of.integer = text && vv_text_is(vv_marked_text(by->of.text), "value");
        if (!text || (!place.of.integer && !vv_text_is(vv_marked_text(by->of.text), "key"))) {
            return vv_jinja_refuse(run, "'dictsort' sorts by \"key\" or by \"value\"");
        }
    }
    int status = vv_jinja_dict_items(run, call, &items);
    status = status == VV_OK ? take_items(run, &items, &o) : status;
    status = status == VV_OK ? take_keys(&o, &place, given_true(&call->values[1]), NULL) : status;
    status = status == VV_OK ? order(&o) : status;
    return status == VV_OK ? ordered_list(&o, out) : status;
}

/* ---- unique, groupby ---- */

static int any_key_before(void *context, uint32_t a, uint32_t b, bool *before) {
    struct ordered *o = context;
    *before = vv_value_order(&o->keys[a], &o->keys[b]) < 0;
    return vv_jinja_charge(o->run, 1);
}

/* The first item of each key, in the order of the items. */
int vv_jinja_unique(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    struct ordered o = {.reverse = false};
    int status = take_items(run, &call->values[0], &o);
    status = status == VV_OK ? take_keys(&o, &call->values[2], given_true(&call->values[1]), NULL)
                             : status;
    for (size_t i = 0; status == VV_OK && i < o.count; i++) {
        if (!vv_value_is_key(&o.keys[i])) {
            return vv_jinja_refuse(run, "'unique' cannot compare %s",
                                   vv_jinja_type_name(&o.keys[i]));
        }
    }
    uint32_t *work =
        status == VV_OK ? vv_arena_take(&run->arena, o.count, sizeof *work, run->error) : NULL;
    o.order = work ? vv_arena_take(&run->arena, o.count, sizeof *o.order, run->error) : NULL;
    struct vv_value *made =
        o.order ? vv_arena_take(&run->arena, o.count, sizeof *made, run->error) : NULL;
    status = made ? vv_sort(o.order, work, o.count, any_key_before, &o) : run->error->code;
    for (size_t i = 0; status == VV_OK && i < o.count; i++) { /* work: whether an item is one */
        uint32_t before = o.order[i > 0 ? i - 1 : 0];
        work[o.order[i]] = i == 0 || vv_value_order(&o.keys[before], &o.keys[o.order[i]]) != 0;
    }
    size_t kept = 0;
    for (size_t i = 0; status == VV_OK && i < o.count; i++) {
        if (work[i]) {
            made[kept++] = o.items[i];
        }
    }
    return status == VV_OK ? vv_jinja_new_iterator(run, made, kept, out) : status;
}

/* Items order[begin .. end) as a pair of their key and their list. */
static int make_group(const struct ordered *o, size_t begin, size_t end, const struct vv_value *key,
                      struct vv_value *out) {
    struct vv_value *items, list;
    int status = vv_jinja_new_list(o->run, VV_VALUE_LIST, end - begin, &items, &list);
    for (size_t i = begin; status == VV_OK && i < end; i++) {
        items[i - begin] = o->items[o->order[i]];
    }
    status = status == VV_OK ? vv_jinja_tuple2(o->run, key, &list, out) : status;
    if (status == VV_OK) {
        struct vv_list *group = vv_arena_take(&o->run->arena, 1, sizeof *group, o->run->error);
        if (!group) {
            return o->run->error->code;
        }
        *group = *out->of.list;
        group->group = true;
        out->of.list = group;
    }
    return status;
}

int vv_jinja_groupby(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_value *otherwise = &call->values[2];
    bool has_default = vv_is_given(otherwise) && otherwise->type != VV_VALUE_NONE;
    const struct vv_value *fallback = has_default ? otherwise : NULL;
    struct ordered o = {.reverse = false};
    int status = take_items(run, &call->values[0], &o);
    status = status == VV_OK
                 ? take_keys(&o, &call->values[1], given_true(&call->values[3]), fallback)
                 : status;
    status = status == VV_OK ? order(&o) : status;
    struct vv_value *groups =
        status == VV_OK ? vv_arena_take(&run->arena, o.count, sizeof *groups, run->error) : NULL;
    size_t count = 0;
    status = groups ? VV_OK : run->error->code;
    for (size_t begin = 0, end; status == VV_OK && begin < o.count; begin = end) {
        bool same = true;
        for (end = begin + 1; status == VV_OK && end < o.count; end++) {
            status = vv_jinja_compare(run, VV_EQUAL, &o.keys[o.order[begin]], &o.keys[o.order[end]],
                                      &same);
            if (!same) {
                break;
            }
        }
        struct vv_value key; /* in its own letters */
        status = status == VV_OK ? vv_jinja_path(run, &o.items[o.order[begin]], &call->values[1],
                                                 fallback, &key)
                                 : status;
        status = status == VV_OK ? make_group(&o, begin, end, &key, &groups[count++]) : status;
    }
    return status == VV_OK
               ? vv_value_list(&run->arena, VV_VALUE_LIST, groups, count, false, out, run->error)
               : status;
}

/* ---- min, max ---- */

static int extreme(struct vv_jinja_run *run, const struct vv_jinja_call *call, int op,
                   struct vv_value *out) {
    struct ordered o = {.reverse = false};
    int status = take_items(run, &call->values[0], &o);
    status = status == VV_OK ? take_keys(&o, &call->values[2], given_true(&call->values[1]), NULL)
                             : status;
    size_t best = 0;
    for (size_t i = 1; status == VV_OK && i < o.count; i++) {
        bool better;
        status = vv_jinja_compare(run, op, &o.keys[i], &o.keys[best], &better);
        best = status == VV_OK && better ? i : best;
    }
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED};
    if (status == VV_OK && o.count > 0) {
        *out = o.items[best];
    }
    return status;
}

int vv_jinja_min(struct vv_jinja_run *run, const struct vv_jinja_call *call, struct vv_value *out) {
    return extreme(run, call, VV_LESS, out);
}

int vv_jinja_max(struct vv_jinja_run *run, const struct vv_jinja_call *call, struct vv_value *out) {
    return extreme(run, call, VV_GREATER, out);
}
