#include "text/jinja/builtins.h"

/* ---- default, attr ---- */

int vv_jinja_default(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     struct vv_value *out) {
    const struct vv_value *value = &call->values[0], *otherwise = &call->values[1];
    const struct vv_value *boolean = &call->values[2];
    bool also_false = vv_is_given(boolean) && vv_jinja_truth(boolean);
    *out = *value;
    if (value->type != VV_VALUE_UNDEFINED && (!also_false || vv_jinja_truth(value))) {
        return VV_OK;
    }
    *out = *otherwise;
    return vv_is_given(otherwise) ? VV_OK : vv_jinja_own_text(run, "", out);
}

/* Attributes alone, no items: of a dict, its methods. */
int vv_jinja_attr(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                  struct vv_value *out) {
    const struct vv_marked *name;
    int status = vv_jinja_want_text(run, &call->values[1], &name);
    status = status == VV_OK
                 ? vv_jinja_attribute(run, &call->values[0], vv_marked_text(name), NULL, out)
                 : status;
    if (status == VV_OK && call->values[0].type == VV_VALUE_DICT && out->type != VV_VALUE_METHOD) {
        *out = (struct vv_value){.type = VV_VALUE_UNDEFINED};
    }
    return status;
}

/* The items, of which there are none where the value is false: map and select ask for no more. */
static int items_of(struct vv_jinja_run *run, const struct vv_value *value,
                    const struct vv_value **items, size_t *count) {
    *items = NULL;
    *count = 0;
    return vv_jinja_truth(value) ? vv_jinja_items(run, value, items, count) : VV_OK;
}

/* ---- map ---- */

/* The named argument of that name, or absent. */
static struct vv_value named(const struct vv_jinja_call *call, const char *name) {
    for (size_t i = 0; i < call->named_count; i++) {
        if (vv_text_is(call->named[i].name, name)) {
            return call->named[i].value;
        }
    }
    return (struct vv_value){.type = VV_VALUE_ABSENT};
}

/* A filter or a test, and its arguments with room for the item in front. */
struct applied {
    struct vv_text name;
    struct vv_value *values;
    struct vv_jinja_call call;
};

/* From the arguments of `call` from number `first` on. */
static int begin_applied(struct vv_jinja_run *run, const struct vv_jinja_call *call, size_t first,
                         struct applied *out) {
    const struct vv_marked *name;
    int status = vv_jinja_want_text(run, &call->values[first], &name);
    if (status != VV_OK) {
        return status;
    }
    size_t count = call->count - first;
    out->name = vv_marked_text(name);
    out->values = vv_arena_take(&run->arena, count, sizeof *out->values, run->error);
    for (size_t i = 1; out->values && i < count; i++) {
        out->values[i] = call->values[first + i];
    }
    out->call = (struct vv_jinja_call){out->values, count, call->named, call->named_count};
    return out->values ? VV_OK : run->error->code;
}

static int map_attribute(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         const struct vv_value *items, size_t count, struct vv_value *made) {
    struct vv_value path = named(call, "attribute"), otherwise = named(call, "default");
    bool has_default = vv_is_given(&otherwise) && otherwise.type != VV_VALUE_NONE;
    int status = VV_OK;
    if (call->named_count > 1 + (size_t)vv_is_given(&otherwise)) {
        return vv_jinja_refuse(run, "'map' takes 'attribute' and 'default' alone by name");
    }
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        status = vv_jinja_path(run, &items[i], &path, has_default ? &otherwise : NULL, &made[i]);
    }
    return status;
}

int vv_jinja_map(struct vv_jinja_run *run, const struct vv_jinja_call *call, struct vv_value *out) {
    const struct vv_value *items;
    struct vv_value attribute = named(call, "attribute");
    struct applied filter;
    size_t count;
    int status = items_of(run, &call->values[0], &items, &count);
    struct vv_value *made =
        status == VV_OK ? vv_arena_take(&run->arena, count, sizeof *made, run->error) : NULL;
    status = made ? vv_jinja_charge(run, count) : run->error->code;
    if (status == VV_OK && call->count == 1 && vv_is_given(&attribute)) {
        status = map_attribute(run, call, items, count, made);
    } else if (status == VV_OK && call->count == 1) {
        return vv_jinja_refuse(run, "'map' needs a filter, or attribute=…");
    } else {
        status = status == VV_OK ? begin_applied(run, call, 1, &filter) : status;
        for (size_t i = 0; status == VV_OK && i < count; i++) {
            filter.values[0] = items[i];
            status = vv_jinja_apply_filter(run, filter.name, &filter.call, &made[i]);
        }
    }
    return status == VV_OK ? vv_jinja_new_iterator(run, made, count, out) : status;
}

/* ---- select and its relatives ---- */

/* The items, or attributes of the items, for which a test (or truth, if none is named) is `wanted`.
 */
static int choose(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool by_attribute,
                  bool wanted, struct vv_value *out) {
    const struct vv_value *items;
    struct vv_value no_path = {.type = VV_VALUE_ABSENT};
    struct applied test = {.values = NULL};
    size_t count, kept = 0, first = by_attribute ? 2 : 1;
    if (by_attribute && call->count < 2) {
        return vv_jinja_refuse(run, "the name of an attribute is missing");
    }
    int status = items_of(run, &call->values[0], &items, &count);
    struct vv_value *made =
        status == VV_OK ? vv_arena_take(&run->arena, count, sizeof *made, run->error) : NULL;
    status = made ? vv_jinja_charge(run, count) : run->error->code;
    if (status == VV_OK && call->count > first) {
        status = begin_applied(run, call, first, &test);
    }
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        struct vv_value value;
        status =
            vv_jinja_path(run, &items[i], by_attribute ? &call->values[1] : &no_path, NULL, &value);
        bool holds = status == VV_OK && vv_jinja_truth(&value);
        if (status == VV_OK && test.values) {
            test.values[0] = value;
            status = vv_jinja_apply_test(run, test.name, &test.call, &holds);
        }
        if (holds == wanted) {
            made[kept++] = items[i];
        }
    }
    return status == VV_OK ? vv_jinja_new_iterator(run, made, kept, out) : status;
}

int vv_jinja_select(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    return choose(run, call, false, true, out);
}

int vv_jinja_reject(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    struct vv_value *out) {
    return choose(run, call, false, false, out);
}

int vv_jinja_selectattr(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return choose(run, call, true, true, out);
}

int vv_jinja_rejectattr(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return choose(run, call, true, false, out);
}
