#include "text/jinja/run.h"

/* ---- Variables ---- */

struct vv_jinja_frame *vv_jinja_open_frame(struct vv_jinja_run *run, struct vv_jinja_frame *outer) {
    struct vv_jinja_frame *frame = vv_arena_take(&run->arena, 1, sizeof *frame, run->error);
    if (frame) {
        *frame = (struct vv_jinja_frame){.outer = outer};
    }
    return frame;
}

struct vv_jinja_binding *vv_jinja_find_binding(struct vv_jinja_run *run,
                                               const struct vv_jinja_frame *frame,
                                               struct vv_text name) {
    for (size_t i = 0; i < frame->count; i++) {
        if (vv_text_order(frame->at[i].name, name) == 0) {
            return &frame->at[i];
        }
    }
    size_t work = frame->count / 8; /* long frames must not make lookups cheap */
    run->limits.steps -= work < run->limits.steps ? work : run->limits.steps;
    return NULL;
}

int vv_jinja_set_in(struct vv_jinja_run *run, struct vv_jinja_frame *frame, struct vv_text name,
                    const struct vv_value *value) {
    struct vv_jinja_binding *binding = vv_jinja_find_binding(run, frame, name);
    if (!binding) {
        int status = vv_arena_grow(&run->arena, &frame->at, frame->count, &frame->capacity,
                                   frame->count + 1, sizeof *frame->at, run->error);
        if (status != VV_OK) {
            return status;
        }
        binding = &frame->at[frame->count++];
        binding->name = name;
    }
    binding->value = *value;
    return VV_OK;
}

int vv_jinja_set(struct vv_jinja_run *run, struct vv_text name, const struct vv_value *value) {
    return vv_jinja_set_in(run, run->frame, name, value);
}

static int assign_tuple(struct vv_jinja_run *run, const struct vv_jinja_node *target,
                        const struct vv_value *value) {
    const struct vv_value *items;
    size_t count, wanted = 0, i = 0;
    int status = vv_jinja_items(run, value, &items, &count);
    for (const struct vv_jinja_node *a = target->a; a; a = a->next) {
        wanted++;
    }
    if (status == VV_OK && count != wanted) {
        return vv_jinja_refuse(run, "%zu values are there for %zu variables", count, wanted);
    }
    for (const struct vv_jinja_node *a = target->a; status == VV_OK && a; a = a->next) {
        status = vv_jinja_assign(run, a, &items[i++]);
    }
    return status;
}

static int assign_member(struct vv_jinja_run *run, const struct vv_jinja_node *target,
                         const struct vv_value *value) {
    struct vv_value space;
    int status = vv_jinja_evaluate(run, target->a, &space);
    if (status != VV_OK) {
        return status;
    }
    run->at = target->at;
    if (space.type != VV_VALUE_NAMESPACE) {
        return vv_jinja_refuse(run, "'%.*s' is no namespace, so nothing in it can be set",
                               VV_JINJA_SHOW(target->a->name));
    }
    if (target->name.at[0] == '_') {
        return vv_jinja_refuse(run, "a name in a namespace cannot begin with '_'");
    }
    return vv_jinja_set_in(run, &space.of.space->members, target->name, value);
}

int vv_jinja_assign(struct vv_jinja_run *run, const struct vv_jinja_node *target,
                    const struct vv_value *value) {
    switch (target->kind) {
    case VV_NODE_TUPLE:
        return assign_tuple(run, target, value);
    case VV_NODE_MEMBER:
        return assign_member(run, target, value);
    default:
        return vv_jinja_set(run, target->name, value);
    }
}

/* ---- Output ---- */

int vv_jinja_capture(struct vv_jinja_run *run, const struct vv_jinja_node *body,
                     struct vv_value *out) {
    struct vv_buffer *outer = run->out, *buffer = vv_jinja_buffer(run, 0);
    if (!buffer) {
        return run->error->code;
    }
    run->out = buffer;
    int flow = vv_jinja_execute(run, body);
    run->out = outer;
    return flow == VV_FLOW_ON ? vv_jinja_finish(run, buffer, out) : flow;
}

static int write_value(struct vv_jinja_run *run, const struct vv_value *value) {
    size_t before = run->out->used;
    int status = vv_jinja_print(run, value, run->out);
    if (status == VV_OK && run->out == run->output && run->out->used > run->limits.output) {
        return vv_jinja_refuse(run, "the template writes more than the limit of %zu bytes",
                               run->limits.output);
    }
    return status == VV_OK ? vv_jinja_charge_bytes(run, run->out->used - before) : status;
}

static int execute_output(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value value;
    int status = vv_jinja_evaluate(run, node->a, &value);
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? write_value(run, &value) : status;
}

/* ---- Statements ---- */

static int execute_if(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    for (;;) {
        struct vv_value test;
        int status = vv_jinja_evaluate(run, node->a, &test);
        if (status != VV_OK || vv_jinja_truth(&test)) {
            return status == VV_OK ? vv_jinja_execute(run, node->b) : status;
        }
        if (!node->c || node->c->kind != VV_NODE_IF || node->c->next) {
            return vv_jinja_execute(run, node->c);
        }
        node = node->c; /* {% elif %}, or an {% if %} that is all of {% else %} */
    }
}

static int execute_set(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value value;
    int status = vv_jinja_evaluate(run, node->b, &value);
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? vv_jinja_assign(run, node->a, &value) : status;
}

/* A body in a scope of its own, as a text. */
static int capture_scope(struct vv_jinja_run *run, const struct vv_jinja_node *body,
                         struct vv_value *out) {
    struct vv_jinja_frame *outer = run->frame;
    run->frame = vv_jinja_open_frame(run, outer);
    int status = run->frame ? vv_jinja_capture(run, body, out) : run->error->code;
    run->frame = outer;
    return status;
}

/* The filters that `node` is, or none, applied to the text of a block: the innermost has no
 * operand. */
static int filter_text(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                       struct vv_value *text) {
    if (!node) {
        return VV_OK;
    }
    struct vv_jinja_call call;
    int status = vv_jinja_enter(run);
    status = status == VV_OK ? filter_text(run, node->a, text) : status;
    status = status == VV_OK ? vv_jinja_arguments(run, node->b, text, &call) : status;
    run->at = status == VV_OK ? node->at : run->at;
    status = status == VV_OK ? vv_jinja_apply_filter(run, node->name, &call, text) : status;
    vv_jinja_leave(run);
    return status;
}

static int execute_set_block(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value text;
    int flow = capture_scope(run, node->c, &text);
    flow = flow == VV_FLOW_ON ? filter_text(run, node->b, &text) : flow;
    return flow == VV_FLOW_ON ? vv_jinja_assign(run, node->a, &text) : flow;
}

static int execute_filter_block(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value text;
    int flow = capture_scope(run, node->b, &text);
    flow = flow == VV_FLOW_ON ? filter_text(run, node->a, &text) : flow;
    return flow == VV_FLOW_ON ? write_value(run, &text) : flow;
}

static int execute_macro(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value macro;
    int status = vv_jinja_new_macro(run, node, &macro);
    return status == VV_OK ? vv_jinja_set(run, node->name, &macro) : status;
}

/* The call with one more argument: the block's body as a macro, "caller". */
static int execute_call_block(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value callee, result;
    struct vv_jinja_call call;
    int status = vv_jinja_evaluate(run, node->a->a, &callee);
    status = status == VV_OK ? vv_jinja_arguments(run, node->a->b, NULL, &call) : status;
    if (status != VV_OK) {
        return status;
    }
    struct vv_jinja_named *named =
        vv_arena_take(&run->arena, call.named_count + 1, sizeof *named, run->error);
    if (!named) {
        return run->error->code;
    }
    for (size_t i = 0; i < call.named_count; i++) {
        named[i] = call.named[i];
    }
    named[call.named_count].name = node->b->name;
    status = vv_jinja_new_macro(run, node->b, &named[call.named_count].value);
    call.named = named;
    call.named_count++;
    run->at = node->at;
    status = status == VV_OK ? vv_jinja_call_value(run, &callee, &call, &result) : status;
    return status == VV_OK ? write_value(run, &result) : status;
}

static int execute_scope(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_jinja_frame *outer = run->frame, *inner = vv_jinja_open_frame(run, outer);
    const struct vv_jinja_node *target = node->a, *body = node->a;
    int status = inner ? VV_OK : run->error->code;
    if (node->kind == VV_NODE_WITH) { /* the values are seen from outside */
        body = node->c;
        for (const struct vv_jinja_node *b = node->b; status == VV_OK && b; b = b->next) {
            struct vv_value value;
            status = vv_jinja_evaluate(run, b, &value);
            run->frame = inner;
            status = status == VV_OK ? vv_jinja_assign(run, target, &value) : status;
            run->frame = outer;
            target = target->next;
        }
    }
    run->frame = inner;
    status = status == VV_OK ? vv_jinja_execute(run, body) : status;
    run->frame = outer;
    return status;
}

static int execute_statement(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    switch (node->kind) {
    case VV_NODE_TEXT:
        return write_value(run, &node->value);
    case VV_NODE_OUTPUT:
        return execute_output(run, node);
    case VV_NODE_IF:
        return execute_if(run, node);
    case VV_NODE_FOR:
        return vv_jinja_execute_loop(run, node);
    case VV_NODE_SET:
        return execute_set(run, node);
    case VV_NODE_SET_BLOCK:
        return execute_set_block(run, node);
    case VV_NODE_MACRO:
        return execute_macro(run, node);
    case VV_NODE_CALL_BLOCK:
        return execute_call_block(run, node);
    case VV_NODE_FILTER_BLOCK:
        return execute_filter_block(run, node);
    case VV_NODE_WITH:
    case VV_NODE_SCOPE:
        return execute_scope(run, node);
    case VV_NODE_BREAK:
        return VV_FLOW_BREAK;
    default:
        return VV_FLOW_CONTINUE;
    }
}

int vv_jinja_execute(struct vv_jinja_run *run, const struct vv_jinja_node *body) {
    int flow = vv_jinja_enter(run);
    for (const struct vv_jinja_node *node = body; flow == VV_FLOW_ON && node; node = node->next) {
        run->at = node->at;
        flow = vv_jinja_charge(run, 1);
        flow = flow == VV_OK ? execute_statement(run, node) : flow;
    }
    vv_jinja_leave(run);
    return flow;
}
