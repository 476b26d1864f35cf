#include "text/jinja/run.h"

bool vv_jinja_is_list(const struct vv_value *value) {
    switch (value->type) {
    case VV_VALUE_LIST:
    case VV_VALUE_TUPLE:
    case VV_VALUE_RANGE:
    case VV_VALUE_KEYS:
    case VV_VALUE_VALUES:
    case VV_VALUE_ITEMS:
        return true;
    default:
        return false;
    }
}

bool vv_jinja_length(const struct vv_value *value, size_t *out) {
    *out = 0;
    if (value->type == VV_VALUE_STRING) {
        *out = value->of.text->characters;
    } else if (value->type == VV_VALUE_DICT) {
        *out = value->of.dict->count;
    } else if (vv_jinja_is_list(value)) {
        *out = value->of.list->count;
    } else {
        return value->type == VV_VALUE_UNDEFINED;
    }
    return true;
}

int vv_jinja_new_list(struct vv_jinja_run *run, enum vv_value_type type, size_t count,
                      struct vv_value **items, struct vv_value *out) {
    struct vv_list *list = vv_arena_take(&run->arena, 1, sizeof *list, run->error);
    struct vv_store *store = list ? vv_arena_take(&run->arena, 1, sizeof *store, run->error) : NULL;
    *items = store ? vv_arena_take(&run->arena, count, sizeof **items, run->error) : NULL;
    if (!*items) {
        return run->error->code;
    }
    *store = (struct vv_store){&run->arena, *items, count, count};
    *list = (struct vv_list){.store = store, .count = count};
    *out = (struct vv_value){.type = type, .of.list = list};
    return vv_jinja_charge(run, count / 8);
}

int vv_jinja_tuple2(struct vv_jinja_run *run, const struct vv_value *a, const struct vv_value *b,
                    struct vv_value *out) {
    struct vv_value *items;
    int status = vv_jinja_new_list(run, VV_VALUE_TUPLE, 2, &items, out);
    if (status == VV_OK) {
        items[0] = *a;
        items[1] = *b;
    }
    return status;
}

int vv_jinja_new_iterator(struct vv_jinja_run *run, const struct vv_value *items, size_t count,
                          struct vv_value *out) {
    struct vv_jinja_iterator *iterator =
        vv_arena_take(&run->arena, 1, sizeof *iterator, run->error);
    if (!iterator) {
        return run->error->code;
    }
    *iterator = (struct vv_jinja_iterator){items, 0, count};
    *out = (struct vv_value){.type = VV_VALUE_ITERATOR, .of.iterator = iterator};
    return VV_OK;
}

/* Each character as a text. */
static int characters_of(struct vv_jinja_run *run, const struct vv_marked *text,
                         const struct vv_value **items, size_t *count) {
    struct vv_value *made, list;
    int status = vv_jinja_new_list(run, VV_VALUE_LIST, text->characters, &made, &list);
    const char *bytes = vv_marked_bytes(text);
    size_t at = 0;
    *items = made;
    *count = text->characters;
    for (size_t i = 0; status == VV_OK && i < *count; i++) {
        size_t end = at + 1;
        while (end < text->length && (bytes[end] & 0xc0) == 0x80) {
            end++;
        }
        status = vv_jinja_part(run, text, at, end - at, &made[i]);
        at = end;
    }
    return status;
}

static int keys_of(struct vv_jinja_run *run, const struct vv_dict *dict,
                   const struct vv_value **items, size_t *count) {
    struct vv_value *made, list;
    int status = vv_jinja_new_list(run, VV_VALUE_LIST, dict->count, &made, &list);
    for (size_t i = 0; status == VV_OK && i < dict->count; i++) {
        made[i] = dict->pairs[i].key;
    }
    *items = made;
    *count = dict->count;
    return status;
}

int vv_jinja_items(struct vv_jinja_run *run, const struct vv_value *value,
                   const struct vv_value **items, size_t *count) {
    static const struct vv_value nothing;
    *count = 0;
    *items = &nothing;
    if (vv_jinja_is_list(value)) {
        *items = vv_list_items(value->of.list);
        *count = value->of.list->count;
        return VV_OK;
    }
    switch (value->type) {
    case VV_VALUE_UNDEFINED:
        return VV_OK;
    case VV_VALUE_STRING:
        return characters_of(run, value->of.text, items, count);
    case VV_VALUE_DICT:
        return keys_of(run, value->of.dict, items, count);
    case VV_VALUE_ITERATOR: {
        struct vv_jinja_iterator *iterator = value->of.iterator;
        *items = iterator->items + iterator->at;
        *count = iterator->count - iterator->at;
        iterator->at = iterator->count;
        return VV_OK;
    }
    default:
        return vv_jinja_refuse(run, "%s has no items to go through", vv_jinja_type_name(value));
    }
}
