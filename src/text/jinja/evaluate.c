#include "text/jinja/run.h"

bool vv_jinja_truth(const struct vv_value *value) {
    size_t length;
    switch (value->type) {
    case VV_VALUE_UNDEFINED:
    case VV_VALUE_NONE:
        return false;
    case VV_VALUE_BOOL:
        return value->of.truth;
    case VV_VALUE_INTEGER:
        return value->of.integer != 0;
    case VV_VALUE_REAL:
        return value->of.real != 0;
    default:
        return !vv_jinja_length(value, &length) || length > 0;
    }
}

/* A variable of this scope or one around it, one that was given, a function, or undefined. */
static int find_variable(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    for (const struct vv_jinja_frame *f = run->frame; f; f = f->outer) {
        const struct vv_jinja_binding *binding = vv_jinja_find_binding(run, f, node->name);
        if (binding) {
            *out = binding->value;
            return VV_OK;
        }
    }
    const struct vv_value *given = vv_dict_find_text(run->variables.of.dict, node->name);
    const struct vv_jinja_builtin *function =
        given ? NULL : vv_jinja_find_builtin(vv_jinja_functions, node->name);
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    if (given) {
        *out = *given;
    } else if (function) {
        *out = (struct vv_value){.type = VV_VALUE_FUNCTION, .of.function = function};
    }
    return VV_OK;
}

static size_t count_nodes(const struct vv_jinja_node *list) {
    size_t count = 0;
    for (; list; list = list->next) {
        count++;
    }
    return count;
}

static int make_list(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                     struct vv_value *out) {
    struct vv_value *items;
    enum vv_value_type type = node->kind == VV_NODE_TUPLE ? VV_VALUE_TUPLE : VV_VALUE_LIST;
    int status = vv_jinja_new_list(run, type, count_nodes(node->a), &items, out);
    for (const struct vv_jinja_node *a = node->a; status == VV_OK && a; a = a->next) {
        status = vv_jinja_evaluate(run, a, items++);
    }
    return status;
}

static int make_dict(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                     struct vv_value *out) {
    size_t count = count_nodes(node->a) / 2, i = 0;
    struct vv_pair *pairs = vv_arena_take(&run->arena, count, sizeof *pairs, run->error);
    int status = pairs ? VV_OK : run->error->code;
    for (const struct vv_jinja_node *a = node->a; status == VV_OK && a; a = a->next->next, i++) {
        status = vv_jinja_evaluate(run, a, &pairs[i].key);
        status = status == VV_OK ? vv_jinja_evaluate(run, a->next, &pairs[i].value) : status;
    }
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_value_dict(&run->arena, pairs, count, false, out, run->error)
                           : status;
}

static int evaluate_attribute(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                              struct vv_value *out) {
    struct vv_value value;
    int status = vv_jinja_evaluate(run, node->a, &value);
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_attribute(run, &value, node->name, node, out) : status;
}

static int evaluate_item(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    struct vv_value value, key;
    int status = vv_jinja_evaluate(run, node->a, &value);
    status = status == VV_OK ? vv_jinja_evaluate(run, node->b, &key) : status;
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_item(run, &value, &key, node, out) : status;
}

static int evaluate_slice(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                          struct vv_value *out) {
    const struct vv_jinja_node *parts[] = {node->b, node->c, node->d};
    struct vv_value value, bounds[3];
    int status = vv_jinja_evaluate(run, node->a, &value);
    for (int i = 0; status == VV_OK && i < 3; i++) {
        bounds[i] = vv_value_none(false);
        status = parts[i] ? vv_jinja_evaluate(run, parts[i], &bounds[i]) : VV_OK;
    }
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_slice(run, &value, bounds, out) : status;
}

static int evaluate_call(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    struct vv_value callee;
    struct vv_jinja_call call;
    int status = vv_jinja_evaluate(run, node->a, &callee);
    status = status == VV_OK ? vv_jinja_arguments(run, node->b, NULL, &call) : status;
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_call_value(run, &callee, &call, out) : status;
}

static int evaluate_filter(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                           struct vv_value *out) {
    struct vv_value value;
    struct vv_jinja_call call;
    int status = vv_jinja_evaluate(run, node->a, &value);
    status = status == VV_OK ? vv_jinja_arguments(run, node->b, &value, &call) : status;
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_apply_filter(run, node->name, &call, out) : status;
}

static int evaluate_test(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    struct vv_value value;
    struct vv_jinja_call call;
    bool holds = false;
    int status = vv_jinja_evaluate(run, node->a, &value);
    status = status == VV_OK ? vv_jinja_arguments(run, node->b, &value, &call) : status;
    run->at = status == VV_OK ? node->at : run->at;
    status = status == VV_OK ? vv_jinja_apply_test(run, node->name, &call, &holds) : status;
    *out = vv_value_bool(holds, false);
    return status;
}

/* The first operand that decides, or the last. */
static int evaluate_words(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                          struct vv_value *out) {
    int status = VV_OK;
    for (const struct vv_jinja_node *a = node->a; status == VV_OK && a; a = a->next) {
        status = vv_jinja_evaluate(run, a, out);
        if (status == VV_OK && vv_jinja_truth(out) == (node->kind == VV_NODE_OR)) {
            break;
        }
    }
    return status;
}

static int evaluate_condition(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                              struct vv_value *out) {
    struct vv_value test;
    int status = vv_jinja_evaluate(run, node->a, &test);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_jinja_node *chosen = vv_jinja_truth(&test) ? node->b : node->c;
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    return chosen ? vv_jinja_evaluate(run, chosen, out) : VV_OK;
}

static int evaluate_binary(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                           struct vv_value *out) {
    struct vv_value left, right;
    int status = vv_jinja_evaluate(run, node->a, &left);
    for (const struct vv_jinja_node *b = node->b; status == VV_OK && b; b = b->next) {
        status = vv_jinja_evaluate(run, b->a, &right);
        run->at = status == VV_OK ? b->at : run->at;
        status = status == VV_OK ? vv_jinja_operate(run, b->op, &left, &right, out) : status;
        left = *out;
    }
    return status;
}

/* a < b < c holds if both comparisons do; the second is not made if the first fails. */
static int evaluate_compare(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                            struct vv_value *out) {
    struct vv_value left, right;
    bool holds = true;
    int status = vv_jinja_evaluate(run, node->a, &left);
    for (const struct vv_jinja_node *b = node->b; status == VV_OK && holds && b; b = b->next) {
        status = vv_jinja_evaluate(run, b->a, &right);
        run->at = status == VV_OK ? b->at : run->at;
        status = status == VV_OK ? vv_jinja_compare(run, b->op, &left, &right, &holds) : status;
        left = right;
    }
    *out = vv_value_bool(holds, false);
    return status;
}

static int evaluate_sign(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    struct vv_value value, zero = vv_value_integer(0, false);
    int status = vv_jinja_evaluate(run, node->a, &value);
    if (status != VV_OK) {
        return status;
    }
    run->at = node->at;
    bool negative = node->kind == VV_NODE_NEGATIVE;
    if (value.type == VV_VALUE_REAL) { /* 0 - x and 0 + x have other zeros */
        *out = vv_value_real(negative ? -value.of.real : value.of.real, value.data);
        return VV_OK;
    }
    return vv_jinja_operate(run, negative ? VV_SUBTRACT : VV_ADD, &zero, &value, out);
}

static int evaluate_node(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                         struct vv_value *out) {
    switch (node->kind) {
    case VV_NODE_CONSTANT:
        *out = node->value;
        return VV_OK;
    case VV_NODE_NAME:
        return find_variable(run, node, out);
    case VV_NODE_LIST:
    case VV_NODE_TUPLE:
        return make_list(run, node, out);
    case VV_NODE_DICT:
        return make_dict(run, node, out);
    case VV_NODE_ATTRIBUTE:
        return evaluate_attribute(run, node, out);
    case VV_NODE_ITEM:
        return evaluate_item(run, node, out);
    case VV_NODE_SLICE:
        return evaluate_slice(run, node, out);
    case VV_NODE_CALL:
        return evaluate_call(run, node, out);
    case VV_NODE_FILTER:
        return evaluate_filter(run, node, out);
    case VV_NODE_TEST:
        return evaluate_test(run, node, out);
    case VV_NODE_NOT: {
        int status = vv_jinja_evaluate(run, node->a, out);
        *out = vv_value_bool(status == VV_OK && !vv_jinja_truth(out), false);
        return status;
    }
    case VV_NODE_AND:
    case VV_NODE_OR:
        return evaluate_words(run, node, out);
    case VV_NODE_CONDITION:
        return evaluate_condition(run, node, out);
    case VV_NODE_BINARY:
        return evaluate_binary(run, node, out);
    case VV_NODE_COMPARE:
        return evaluate_compare(run, node, out);
    default:
        return evaluate_sign(run, node, out);
    }
}

int vv_jinja_evaluate(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                      struct vv_value *out) {
    run->at = node->at;
    int status = vv_jinja_enter(run);
    status = status == VV_OK ? vv_jinja_charge(run, 1) : status;
    status = status == VV_OK ? evaluate_node(run, node, out) : status;
    vv_jinja_leave(run);
    return status;
}
