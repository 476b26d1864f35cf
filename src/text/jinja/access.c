#include "text/jinja/run.h"
#include "text/number.h"

#include <string.h>

const char *vv_jinja_type_name(const struct vv_value *value) {
    static const char *const names[] = {
        [VV_VALUE_UNDEFINED] = "an undefined value",
        [VV_VALUE_NONE] = "none",
        [VV_VALUE_BOOL] = "a bool",
        [VV_VALUE_INTEGER] = "an integer",
        [VV_VALUE_BIG] = "an integer beyond 64 bits",
        [VV_VALUE_REAL] = "a real number",
        [VV_VALUE_STRING] = "a text",
        [VV_VALUE_LIST] = "a list",
        [VV_VALUE_TUPLE] = "a tuple",
        [VV_VALUE_DICT] = "a dict",
        [VV_VALUE_RANGE] = "a range",
        [VV_VALUE_KEYS] = "the keys of a dict",
        [VV_VALUE_VALUES] = "the values of a dict",
        [VV_VALUE_ITEMS] = "the items of a dict",
        [VV_VALUE_ITERATOR] = "an iterator",
        [VV_VALUE_NAMESPACE] = "a namespace",
        [VV_VALUE_LOOP] = "a loop",
        [VV_VALUE_MACRO] = "a macro",
        [VV_VALUE_FUNCTION] = "a function",
        [VV_VALUE_METHOD] = "a method",
        [VV_VALUE_ABSENT] = "a missing argument",
    };
    return names[value->type];
}

static bool is_any_of(struct vv_text name, const char *const *names /* NULL ends them */) {
    while (*names && !vv_text_is(name, *names)) {
        names++;
    }
    return *names != NULL;
}

/* Methods of Python's dicts and lists that change them, and so are not there. */
static const char *const changing_dicts[] = {"clear",      "pop",    "popitem",
                                             "setdefault", "update", NULL};
static const char *const changing_lists[] = {"append",  "extend", "insert", "remove",
                                             "reverse", "sort",   NULL};

int vv_jinja_refuse_undefined(struct vv_jinja_run *run, const struct vv_value *value) {
    const struct vv_jinja_node *node = value->of.node;
    enum vv_node_kind kind = node ? node->kind : VV_NODE_CONSTANT;
    if (kind == VV_NODE_ATTRIBUTE &&
        (is_any_of(node->name, changing_dicts) || is_any_of(node->name, changing_lists))) {
        return vv_jinja_refuse(run, "'%.*s' would change a value, which a template may not do",
                               VV_JINJA_SHOW(node->name));
    }
    if (kind == VV_NODE_NAME || kind == VV_NODE_ATTRIBUTE) {
        return vv_jinja_refuse(run, "'%.*s' is undefined", VV_JINJA_SHOW(node->name));
    }
    if (kind == VV_NODE_PARAMETER) {
        return vv_jinja_refuse(run, "the parameter '%.*s' is not given", VV_JINJA_SHOW(node->name));
    }
    if (kind == VV_NODE_ITEM && node->b->value.type == VV_VALUE_STRING) {
        struct vv_text key = vv_marked_text(node->b->value.of.text);
        return vv_jinja_refuse(run, "'%.*s' is undefined", VV_JINJA_SHOW(key));
    }
    return vv_jinja_refuse(run, "this value is undefined");
}

/* ---- Attributes ---- */

static const struct vv_jinja_builtin *methods_of(const struct vv_value *value) {
    static const struct vv_jinja_builtin none[] = {{0}};
    switch (value->type) {
    case VV_VALUE_STRING:
        return vv_jinja_text_methods;
    case VV_VALUE_DICT:
        return vv_jinja_dict_methods;
    case VV_VALUE_LIST:
        return vv_jinja_list_methods;
    case VV_VALUE_TUPLE:
    case VV_VALUE_RANGE:
        return vv_jinja_tuple_methods;
    case VV_VALUE_LOOP:
        return vv_jinja_loop_methods;
    default:
        return none;
    }
}

/* A method bound to the value, or undefined. */
static int find_method(struct vv_jinja_run *run, const struct vv_value *value, struct vv_text name,
                       const struct vv_jinja_node *node, struct vv_value *out) {
    const struct vv_jinja_builtin *builtin = vv_jinja_find_builtin(methods_of(value), name);
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    if (!builtin) {
        return VV_OK;
    }
    struct vv_jinja_method *method = vv_arena_take(&run->arena, 1, sizeof *method, run->error);
    if (!method) {
        return run->error->code;
    }
    *method = (struct vv_jinja_method){builtin, *value};
    *out = (struct vv_value){.type = VV_VALUE_METHOD, .of.method = method};
    return VV_OK;
}

/* What is no method: members of namespaces and loops, the names of a group, a macro's name. */
static int find_member(struct vv_jinja_run *run, const struct vv_value *value, struct vv_text name,
                       const struct vv_jinja_node *node, struct vv_value *out) {
    if (value->type == VV_VALUE_NAMESPACE) {
        const struct vv_jinja_binding *binding =
            vv_jinja_find_binding(run, &value->of.space->members, name);
        *out = binding ? binding->value : *out;
    } else if (value->type == VV_VALUE_LOOP) {
        return vv_jinja_loop_member(run, value->of.loop, name, node, out);
    } else if (value->type == VV_VALUE_TUPLE && value->of.list->group) {
        bool grouper = vv_text_is(name, "grouper"), list = vv_text_is(name, "list");
        *out = grouper || list ? vv_list_items(value->of.list)[list] : *out;
    } else if (value->type == VV_VALUE_MACRO && vv_text_is(name, "name")) {
        const struct vv_marked *text =
            vv_marked_new(&run->arena, value->of.macro->node->name, false, run->error);
        *out = (struct vv_value){.type = VV_VALUE_STRING, .of.text = text};
        return text ? VV_OK : run->error->code;
    }
    return VV_OK;
}

int vv_jinja_attribute(struct vv_jinja_run *run, const struct vv_value *value, struct vv_text name,
                       const struct vv_jinja_node *node, struct vv_value *out) {
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, value);
    }
    int status = find_method(run, value, name, node, out);
    if (status == VV_OK && out->type == VV_VALUE_UNDEFINED && value->type == VV_VALUE_DICT) {
        const struct vv_value *found =
            is_any_of(name, changing_dicts) ? NULL : vv_dict_find_text(value->of.dict, name);
        *out = found ? *found : *out;
        return VV_OK;
    }
    return status == VV_OK && out->type == VV_VALUE_UNDEFINED
               ? find_member(run, value, name, node, out)
               : status;
}

/* ---- Items ---- */

/* Where item `index`, counted from the end if negative, of `count` is; false if it is not there. */
static bool place_of(int64_t index, size_t count, size_t *out) {
    if (index < 0) {
        index += (int64_t)count;
    }
    *out = (size_t)index;
    return index >= 0 && (size_t)index < count;
}

static int character_at(struct vv_jinja_run *run, const struct vv_marked *text, size_t index,
                        struct vv_value *out) {
    size_t begin = vv_marked_offset(text, index), end = vv_marked_offset(text, index + 1);
    int status = text->characters == text->length ? VV_OK : vv_jinja_charge_bytes(run, 2 * end);
    return status == VV_OK ? vv_jinja_part(run, text, begin, end - begin, out) : status;
}

int vv_jinja_item(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_value *key, const struct vv_jinja_node *node,
                  struct vv_value *out) {
    int64_t index;
    size_t place;
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, value);
    }
    if (value->type == VV_VALUE_DICT) {
        const struct vv_value *found = vv_dict_find(value->of.dict, key);
        if (found) {
            *out = *found;
            return VV_OK;
        }
    }
    if (key->type == VV_VALUE_STRING && value->type == VV_VALUE_DICT) {
        return find_method(run, value, vv_marked_text(key->of.text), node, out);
    }
    if (key->type == VV_VALUE_STRING) {
        return vv_jinja_attribute(run, value, vv_marked_text(key->of.text), node, out);
    }
    if (!vv_value_as_integer(key, &index)) {
        return VV_OK;
    }
    if (value->type == VV_VALUE_STRING) {
        return place_of(index, value->of.text->characters, &place)
                   ? character_at(run, value->of.text, place, out)
                   : VV_OK;
    }
    bool subscripted = value->type == VV_VALUE_LIST || value->type == VV_VALUE_TUPLE ||
                       value->type == VV_VALUE_RANGE;
    if (subscripted && place_of(index, value->of.list->count, &place)) {
        *out = vv_list_items(value->of.list)[place];
    }
    return VV_OK;
}

int vv_jinja_path(struct vv_jinja_run *run, const struct vv_value *value,
                  const struct vv_value *path, const struct vv_value *otherwise,
                  struct vv_value *out) {
    *out = *value;
    if (path->type == VV_VALUE_NONE || path->type == VV_VALUE_ABSENT) {
        return VV_OK;
    }
    if (path->type != VV_VALUE_STRING) {
        int status = vv_jinja_item(run, value, path, NULL, out);
        *out = otherwise && out->type == VV_VALUE_UNDEFINED ? *otherwise : *out;
        return status;
    }
    struct vv_text text = vv_marked_text(path->of.text);
    for (size_t at = 0, end; at <= text.length; at = end + 1) {
        int64_t index;
        const char *dot = memchr(text.at + at, '.', text.length - at);
        end = dot ? (size_t)(dot - text.at) : text.length;
        struct vv_value part, whole = *out;
        int status = vv_jinja_part(run, path->of.text, at, end - at, &part);
        if (status == VV_OK && end > at && text.at[at] != '-' && text.at[at] != '+' &&
            vv_integer_read(text.at + at, end - at, &index)) {
            part = vv_value_integer(index, false);
        }
        status = status == VV_OK ? vv_jinja_item(run, &whole, &part, NULL, out) : status;
        if (status != VV_OK) {
            return status;
        }
        *out = otherwise && out->type == VV_VALUE_UNDEFINED ? *otherwise : *out;
    }
    return VV_OK;
}

/* ---- Slices ---- */

struct range {
    int64_t start, step;
    size_t count;
};

/* One bound: counted from the end if negative, then between `low` and `high`. */
static int64_t clamp(int64_t bound, int64_t count, int64_t low, int64_t high) {
    bound += bound < 0 ? count : 0;
    return bound < low ? low : bound > high ? high : bound;
}

/* Which of `length` items a slice takes. */
static int resolve(struct vv_jinja_run *run, const struct vv_value bounds[3], size_t length,
                   struct range *out) {
    int64_t parts[3] = {0, 0, 1}, count = (int64_t)length;
    for (int i = 0; i < 3; i++) {
        if (bounds[i].type != VV_VALUE_NONE && !vv_value_as_integer(&bounds[i], &parts[i])) {
            return vv_jinja_refuse(run, "a slice is from an integer to an integer, not %s",
                                   vv_jinja_type_name(&bounds[i]));
        }
        parts[i] = bounds[i].type == VV_VALUE_NONE && i == 2 ? 1 : parts[i];
    }
    int64_t step = parts[2];
    if (step == 0) {
        return vv_jinja_refuse(run, "a slice cannot go on in steps of 0");
    }
    bool up = step > 0;
    int64_t low = up ? 0 : -1, high = up ? count : count - 1;
    int64_t start =
        bounds[0].type == VV_VALUE_NONE ? (up ? low : high) : clamp(parts[0], count, low, high);
    int64_t stop =
        bounds[1].type == VV_VALUE_NONE ? (up ? high : low) : clamp(parts[1], count, low, high);
    int64_t distance = up ? stop - start : start - stop;
    uint64_t stride = up ? (uint64_t)step : (uint64_t)0 - (uint64_t)step;
    *out = (struct range){start, step,
                          distance > 0 ? (size_t)(((uint64_t)distance - 1) / stride + 1) : 0};
    return VV_OK;
}

static int slice_text(struct vv_jinja_run *run, const struct vv_marked *text, struct range range,
                      struct vv_value *out) {
    if (range.step == 1 || range.count == 0) {
        size_t first = range.count ? (size_t)range.start : 0;
        size_t begin = vv_marked_offset(text, first);
        size_t end = vv_marked_offset(text, first + range.count);
        int status = text->characters == text->length ? VV_OK : vv_jinja_charge_bytes(run, end);
        return status == VV_OK ? vv_jinja_part(run, text, begin, end - begin, out) : status;
    }
    const struct vv_value *characters;
    struct vv_value whole = {.type = VV_VALUE_STRING, .of.text = text};
    size_t count;
    struct vv_buffer *buffer = vv_jinja_buffer(run, range.count);
    int status = buffer ? vv_jinja_items(run, &whole, &characters, &count) : run->error->code;
    int64_t at = range.start;
    for (size_t i = 0; status == VV_OK && i < range.count; i++, at += range.step) {
        status = vv_buffer_add_marked(buffer, characters[at].of.text, run->error);
        if (i + 1 == range.count) {
            break; /* `at` could overflow */
        }
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

static int slice_list(struct vv_jinja_run *run, const struct vv_value *value, struct range range,
                      struct vv_value *out) {
    const struct vv_list *list = value->of.list;
    struct vv_value *items;
    if (range.step == 1) { /* a part of the same store */
        struct vv_list *part = vv_arena_take(&run->arena, 1, sizeof *part, run->error);
        if (!part) {
            return run->error->code;
        }
        size_t start = range.count > 0 ? (size_t)range.start : 0;
        *part = (struct vv_list){
            .store = list->store, .start = list->start + start, .count = range.count};
        *out = (struct vv_value){.type = value->type, .data = value->data, .of.list = part};
        return VV_OK;
    }
    int status = vv_jinja_new_list(run, value->type, range.count, &items, out);
    for (size_t i = 0; status == VV_OK && i < range.count; i++) {
        items[i] = vv_list_items(list)[range.start + (int64_t)i * range.step];
    }
    out->data = value->data;
    return status;
}

int vv_jinja_slice(struct vv_jinja_run *run, const struct vv_value *value,
                   const struct vv_value bounds[3], struct vv_value *out) {
    struct range range = {0};
    size_t length;
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, value);
    }
    bool list = value->type == VV_VALUE_LIST || value->type == VV_VALUE_TUPLE ||
                value->type == VV_VALUE_RANGE;
    if (!list && value->type != VV_VALUE_STRING) {
        return vv_jinja_refuse(run, "%s cannot be sliced", vv_jinja_type_name(value));
    }
    vv_jinja_length(value, &length);
    int status = resolve(run, bounds, length, &range);
    if (status != VV_OK) {
        return status;
    }
    return list ? slice_list(run, value, range, out) : slice_text(run, value->of.text, range, out);
}
