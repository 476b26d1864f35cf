#include "text/jinja/run.h"

int vv_jinja_new_macro(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                       struct vv_value *out) {
    struct vv_jinja_macro *macro = vv_arena_take(&run->arena, 1, sizeof *macro, run->error);
    if (!macro) {
        return run->error->code;
    }
    *macro = (struct vv_jinja_macro){node, run->frame};
    *out = (struct vv_value){.type = VV_VALUE_MACRO, .of.macro = macro};
    return VV_OK;
}

/* ---- Arguments of a call ---- */

static void count_arguments(const struct vv_jinja_node *arguments, size_t *plain, size_t *named) {
    for (const struct vv_jinja_node *a = arguments; a; a = a->next) {
        bool by_name = a->kind == VV_NODE_KEYWORD || a->kind == VV_NODE_SPREAD_NAMED;
        *(by_name ? named : plain) += 1;
    }
}

/* Adds the items of "*a" to the plain arguments. */
static int spread(struct vv_jinja_run *run, const struct vv_value *value, struct vv_value **values,
                  size_t *count, size_t *capacity) {
    const struct vv_value *items;
    size_t more;
    int status = vv_jinja_items(run, value, &items, &more);
    if (status == VV_OK) {
        status = vv_arena_grow(&run->arena, values, *count, capacity, *count + more,
                               sizeof **values, run->error);
    }
    for (size_t i = 0; status == VV_OK && i < more; i++) {
        (*values)[(*count)++] = items[i];
    }
    return status;
}

/* Adds the items of "**a" to the named ones. */
static int spread_named(struct vv_jinja_run *run, const struct vv_value *value,
                        struct vv_jinja_named **named, size_t *count, size_t *capacity) {
    if (value->type != VV_VALUE_DICT) {
        return vv_jinja_refuse(run, "'**' needs a dict, not %s", vv_jinja_type_name(value));
    }
    const struct vv_dict *dict = value->of.dict;
    int status = vv_arena_grow(&run->arena, named, *count, capacity, *count + dict->count,
                               sizeof **named, run->error);
    for (size_t i = 0; status == VV_OK && i < dict->count; i++) {
        const struct vv_pair *pair = &dict->pairs[i];
        if (pair->key.type != VV_VALUE_STRING) {
            return vv_jinja_refuse(run, "the names of arguments must be texts");
        }
        (*named)[(*count)++] = (struct vv_jinja_named){
            vv_marked_text(pair->key.of.text), vv_marked_any_data(pair->key.of.text), pair->value};
    }
    return status;
}

static int check_names(struct vv_jinja_run *run, const struct vv_jinja_named *named, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (vv_text_order(named[i].name, named[k].name) == 0) {
                return vv_jinja_refuse(run, "the argument '%.*s' is given twice",
                                       VV_JINJA_SHOW(named[i].name));
            }
        }
    }
    return vv_jinja_charge(run, count * count / 16);
}

int vv_jinja_named_pair(struct vv_jinja_run *run, const struct vv_jinja_named *named,
                        struct vv_pair *out) {
    const struct vv_marked *key = vv_marked_new(&run->arena, named->name, named->data, run->error);
    out->key = (struct vv_value){.type = VV_VALUE_STRING, .data = named->data, .of.text = key};
    out->value = named->value;
    return key ? VV_OK : run->error->code;
}

int vv_jinja_arguments(struct vv_jinja_run *run, const struct vv_jinja_node *arguments,
                       const struct vv_value *first, struct vv_jinja_call *out) {
    size_t capacity = first ? 1 : 0, named_capacity = 0, count = capacity, named_count = 0;
    count_arguments(arguments, &capacity, &named_capacity);
    struct vv_value *values = vv_arena_take(&run->arena, capacity, sizeof *values, run->error);
    struct vv_jinja_named *named =
        values ? vv_arena_take(&run->arena, named_capacity, sizeof *named, run->error) : NULL;
    int status = named ? VV_OK : run->error->code;
    if (named && first) {
        values[0] = *first;
    }
    for (const struct vv_jinja_node *a = arguments; status == VV_OK && a; a = a->next) {
        bool plain = a->kind <= VV_NODE_COMPARE;
        struct vv_value value;
        status = vv_jinja_evaluate(run, plain ? a : a->a, &value);
        if (status != VV_OK) {
            break;
        }
        if (plain) {
            values[count++] = value;
        } else if (a->kind == VV_NODE_KEYWORD) {
            named[named_count++] = (struct vv_jinja_named){a->name, false, value};
        } else if (a->kind == VV_NODE_SPREAD) {
            status = spread(run, &value, &values, &count, &capacity);
        } else {
            status = spread_named(run, &value, &named, &named_count, &named_capacity);
        }
    }
    *out = (struct vv_jinja_call){values, count, named, named_count};
    return status == VV_OK ? check_names(run, named, named_count) : status;
}

/* ---- Macros ---- */

/* The named argument of that name, marked as used, or NULL. */
static const struct vv_value *take_named(const struct vv_jinja_call *call, bool *used,
                                         struct vv_text name) {
    for (size_t i = 0; i < call->named_count; i++) {
        if (!used[i] && vv_text_order(call->named[i].name, name) == 0) {
            used[i] = true;
            return &call->named[i].value;
        }
    }
    return NULL;
}

static int bind_parameter(struct vv_jinja_run *run, const struct vv_jinja_node *parameter,
                          const struct vv_value *given) {
    struct vv_value value = {.type = VV_VALUE_UNDEFINED, .of.node = parameter};
    int status = VV_OK;
    if (given) {
        value = *given;
    } else if (parameter->a) {
        status = vv_jinja_evaluate(run, parameter->a, &value);
    }
    return status == VV_OK ? vv_jinja_set(run, parameter->name, &value) : status;
}

static int set_varargs(struct vv_jinja_run *run, const struct vv_jinja_call *call, size_t used) {
    struct vv_value value;
    size_t more = call->count > used ? call->count - used : 0;
    int status = vv_value_list(&run->arena, VV_VALUE_TUPLE, call->values + call->count - more, more,
                               false, &value, run->error);
    return status == VV_OK ? vv_jinja_set(run, (struct vv_text){"varargs", 7}, &value) : status;
}

static int set_kwargs(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      const bool *used) {
    struct vv_pair *pairs =
        vv_arena_take(&run->arena, call->named_count, sizeof *pairs, run->error);
    size_t count = 0;
    int status = pairs ? VV_OK : run->error->code;
    for (size_t i = 0; status == VV_OK && i < call->named_count; i++) {
        if (!used[i]) {
            status = vv_jinja_named_pair(run, &call->named[i], &pairs[count++]);
        }
    }
    struct vv_value value;
    status = status == VV_OK ? vv_value_dict(&run->arena, pairs, count, false, &value, run->error)
                             : status;
    return status == VV_OK ? vv_jinja_set(run, (struct vv_text){"kwargs", 6}, &value) : status;
}

/* What is left over must be asked for by the macro. */
static int bind_rest(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                     const struct vv_jinja_call *call, size_t positions, bool *used) {
    static const struct vv_text caller_name = {"caller", 6};
    int status = VV_OK;
    if (node->caller) {
        const struct vv_value *caller = take_named(call, used, caller_name);
        struct vv_value none = {.type = VV_VALUE_UNDEFINED};
        status = vv_jinja_set(run, caller_name, caller ? caller : &none);
    }
    size_t unused = 0;
    for (size_t i = 0; i < call->named_count; i++) {
        unused += !used[i];
    }
    if (unused > 0 && !node->kwargs) {
        return vv_jinja_refuse(run,
                               "the macro '%.*s' is given an argument by a name that it does "
                               "not know",
                               VV_JINJA_SHOW(node->name));
    }
    if (call->count > positions && !node->varargs) {
        return vv_jinja_refuse(run, "the macro '%.*s' is given %zu arguments and takes %zu",
                               VV_JINJA_SHOW(node->name), call->count, positions);
    }
    status = status == VV_OK && node->kwargs ? set_kwargs(run, call, used) : status;
    return status == VV_OK && node->varargs ? set_varargs(run, call, positions) : status;
}

static int bind(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                const struct vv_jinja_call *call) {
    bool *used = vv_arena_take(&run->arena, call->named_count, sizeof *used, run->error);
    size_t position = 0;
    int status = used ? VV_OK : run->error->code;
    for (size_t i = 0; used && i < call->named_count; i++) {
        used[i] = false;
    }
    for (const struct vv_jinja_node *a = node->a; status == VV_OK && a; a = a->next, position++) {
        const struct vv_value *given =
            position < call->count ? &call->values[position] : take_named(call, used, a->name);
        status = bind_parameter(run, a, given);
    }
    return status == VV_OK ? bind_rest(run, node, call, position, used) : status;
}

int vv_jinja_call_macro(struct vv_jinja_run *run, const struct vv_jinja_macro *macro,
                        const struct vv_jinja_call *call, struct vv_value *out) {
    struct vv_jinja_frame *outside = run->frame;
    run->frame = vv_jinja_open_frame(run, macro->frame);
    int status = run->frame ? bind(run, macro->node, call) : run->error->code;
    status = status == VV_OK ? vv_jinja_capture(run, macro->node->b, out) : status;
    run->frame = outside;
    return status;
}

/* ---- Calls of any kind ---- */

static int call_method(struct vv_jinja_run *run, const struct vv_jinja_method *method,
                       const struct vv_jinja_call *call, struct vv_value *out) {
    struct vv_value *values =
        vv_arena_take(&run->arena, call->count + 1, sizeof *values, run->error);
    if (!values) {
        return run->error->code;
    }
    values[0] = method->self;
    for (size_t i = 0; i < call->count; i++) {
        values[i + 1] = call->values[i];
    }
    struct vv_jinja_call with_self = *call;
    with_self.values = values;
    with_self.count++;
    return vv_jinja_call_builtin(run, method->builtin, &with_self, out);
}

int vv_jinja_call_value(struct vv_jinja_run *run, const struct vv_value *callee,
                        const struct vv_jinja_call *call, struct vv_value *out) {
    int status = vv_jinja_enter(run);
    if (status == VV_OK) {
        switch (callee->type) {
        case VV_VALUE_MACRO:
            status = vv_jinja_call_macro(run, callee->of.macro, call, out);
            break;
        case VV_VALUE_METHOD:
            status = call_method(run, callee->of.method, call, out);
            break;
        case VV_VALUE_FUNCTION:
            status = vv_jinja_call_builtin(run, callee->of.function, call, out);
            break;
        case VV_VALUE_LOOP:
            status = vv_jinja_call_loop(run, callee->of.loop, call, out);
            break;
        case VV_VALUE_UNDEFINED:
            status = vv_jinja_refuse_undefined(run, callee);
            break;
        default:
            status = vv_jinja_refuse(run, "%s cannot be called", vv_jinja_type_name(callee));
        }
    }
    vv_jinja_leave(run);
    return status;
}
