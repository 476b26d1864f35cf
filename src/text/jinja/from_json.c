#include "text/jinja/value.h"
#include "text/json.h"
#include "text/number.h"

#include <stdlib.h>

_Static_assert(sizeof(struct vv_pair) == 2 * sizeof(struct vv_value), "pairs lie as in a list");

struct reader {
    struct vv_json json;
    struct vv_arena *arena;
    bool data;
    struct vv_value *values; /* complete ones; keys and values of open objects in turn */
    size_t count, capacity;
    size_t opened[VV_JSON_DEPTH]; /* `count` when each of the open arrays and objects began */
    struct vv_error *error;
};

static int push(struct reader *r, struct vv_value value) {
    int status =
        vv_grow(&r->values, &r->capacity, r->count + 1, sizeof *r->values, "a value", r->error);
    if (status == VV_OK) {
        r->values[r->count++] = value;
    }
    return status;
}

static int push_string(struct reader *r) {
    struct vv_text text = {r->json.string.at, r->json.string.length};
    const struct vv_marked *marked = vv_marked_new(r->arena, text, r->data, r->error);
    struct vv_value value = {.type = VV_VALUE_STRING, .data = r->data, .of.text = marked};
    return marked ? push(r, value) : r->error->code;
}

static int push_number(struct reader *r, enum vv_json_part part) {
    struct vv_text number = r->json.number;
    struct vv_value value = {.data = r->data};
    if (part == VV_JSON_REAL) {
        value.type = VV_VALUE_REAL;
        vv_number_read(number.at, number.length, &value.of.real); /* it is one */
    } else if (vv_integer_read(number.at, number.length, &value.of.integer)) {
        value.type = VV_VALUE_INTEGER;
    } else {
        value.type = VV_VALUE_BIG;
        value.of.text = vv_marked_new(r->arena, number, r->data, r->error);
        if (!value.of.text) {
            return r->error->code;
        }
    }
    return push(r, value);
}

/* Makes one value of all since the innermost array or object began. */
static int close_nest(struct reader *r, bool object) {
    size_t begin = r->opened[r->json.depth], count = r->count - begin;
    const struct vv_value *inside = count > 0 ? r->values + begin : NULL;
    struct vv_value value;
    int status =
        object ? vv_value_dict(r->arena, (const struct vv_pair *)inside, count / 2, r->data, &value,
                               r->error)
               : vv_value_list(r->arena, VV_VALUE_LIST, inside, count, r->data, &value, r->error);
    r->count = begin;
    return status == VV_OK ? push(r, value) : status;
}

static int take_part(struct reader *r, enum vv_json_part part) {
    switch (part) {
    case VV_JSON_NULL:
        return push(r, vv_value_none(r->data));
    case VV_JSON_FALSE:
    case VV_JSON_TRUE:
        return push(r, vv_value_bool(part == VV_JSON_TRUE, r->data));
    case VV_JSON_INTEGER:
    case VV_JSON_REAL:
        return push_number(r, part);
    case VV_JSON_STRING:
    case VV_JSON_KEY:
        return push_string(r);
    case VV_JSON_OBJECT:
    case VV_JSON_ARRAY:
        r->opened[r->json.depth - 1] = r->count;
        return VV_OK;
    case VV_JSON_OBJECT_END:
    case VV_JSON_ARRAY_END:
        return close_nest(r, part == VV_JSON_OBJECT_END);
    case VV_JSON_END:
        break;
    }
    return VV_OK;
}

int vv_value_json(struct vv_arena *arena, struct vv_text json, bool data, struct vv_value *out,
                  struct vv_error *error) {
    struct reader r = {.json = {.text = json}, .arena = arena, .data = data, .error = error};
    enum vv_json_part part;
    int status;
    do {
        status = vv_json_next(&r.json, &part, error);
        status = status == VV_OK ? take_part(&r, part) : status;
    } while (status == VV_OK && part != VV_JSON_END);
    if (status == VV_OK) {
        *out = r.values[0];
    }
    free(r.values);
    vv_bytes_free(&r.json.string);
    return status;
}
