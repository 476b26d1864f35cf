#include "text/jinja/builtins.h"

#include <string.h>

/*
 * A loop that goes on. Its filter, if any, is asked only when the next item is needed, as what it
 * looks at may change from one round to the next.
 */
struct vv_jinja_loop {
    const struct vv_jinja_node *node;
    struct vv_jinja_loop *outer;         /* the one around it, for messages */
    struct vv_jinja_frame *outside;      /* the scope that the loop stands in */
    const struct vv_value *items;        /* all of them */
    size_t count, next;                  /* those before `next` are used up, or filtered out */
    size_t index;                        /* rounds before this one */
    size_t length;                       /* items that pass the filter; SIZE_MAX: not counted yet */
    unsigned depth;                      /* of a recursive loop: calls around it */
    bool peeked;                         /* whether `after` is known: the next item, or absent */
    struct vv_value before, now, after;  /* absent where there is none */
    const struct vv_value *last_changed; /* [last_changed_count], what changed() was given */
    size_t last_changed_count;
    bool changed_before;
    bool completed; /* a round came to its end */
};

/* Whether an item passes the filter, which sees the target and not the loop. */
static int passes(struct vv_jinja_run *run, struct vv_jinja_loop *loop, const struct vv_value *item,
                  bool *out) {
    struct vv_jinja_frame *inside = run->frame;
    struct vv_value result;
    run->frame = vv_jinja_open_frame(run, loop->outside);
    int status = run->frame ? vv_jinja_assign(run, loop->node->a, item) : run->error->code;
    status = status == VV_OK ? vv_jinja_evaluate(run, loop->node->c, &result) : status;
    run->frame = inside;
    *out = status == VV_OK && vv_jinja_truth(&result);
    return status;
}

/* The next item that passes the filter, absent behind the last. */
static int find_next(struct vv_jinja_run *run, struct vv_jinja_loop *loop, struct vv_value *out) {
    while (loop->next < loop->count) {
        const struct vv_value *item = &loop->items[loop->next++];
        bool pass = true;
        int status = loop->node->c ? passes(run, loop, item, &pass) : VV_OK;
        if (status != VV_OK || pass) {
            *out = *item;
            return status;
        }
    }
    *out = (struct vv_value){.type = VV_VALUE_ABSENT};
    return VV_OK;
}

static int peek(struct vv_jinja_run *run, struct vv_jinja_loop *loop) {
    int status = loop->peeked ? VV_OK : find_next(run, loop, &loop->after);
    loop->peeked = status == VV_OK;
    return status;
}

/* Counts the items, which for a filter means to ask it about all that are left. */
static int measure(struct vv_jinja_run *run, struct vv_jinja_loop *loop) {
    if (loop->length != SIZE_MAX) {
        return VV_OK;
    }
    struct vv_value *left =
        vv_arena_take(&run->arena, loop->count - loop->next, sizeof *left, run->error);
    size_t count = 0;
    int status = left ? VV_OK : run->error->code;
    while (status == VV_OK) {
        struct vv_value item;
        status = find_next(run, loop, &item);
        if (status != VV_OK || !vv_is_given(&item)) {
            break;
        }
        left[count++] = item;
    }
    loop->items = left;
    loop->next = 0;
    loop->count = count;
    loop->length = count + loop->index + 1 + (loop->peeked && vv_is_given(&loop->after));
    return status;
}

/* ---- The variable "loop" ---- */

static void set_size(struct vv_value *out, size_t value) {
    *out = vv_value_integer((int64_t)value, false);
}

static int count_member(struct vv_jinja_run *run, struct vv_jinja_loop *loop, struct vv_text name,
                        struct vv_value *out) {
    int status = measure(run, loop);
    set_size(out, vv_text_is(name, "length")     ? loop->length
                  : vv_text_is(name, "revindex") ? loop->length - loop->index
                                                 : loop->length - loop->index - 1);
    return status;
}

static int neighbour(struct vv_jinja_run *run, struct vv_jinja_loop *loop, struct vv_text name,
                     const struct vv_jinja_node *node, struct vv_value *out) {
    int status = VV_OK;
    if (vv_text_is(name, "previtem")) {
        *out = loop->before;
    } else {
        status = peek(run, loop);
        *out = loop->after;
    }
    if (vv_text_is(name, "last")) {
        *out = vv_value_bool(!vv_is_given(&loop->after), false);
    } else if (!vv_is_given(out)) {
        *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    }
    return status;
}

int vv_jinja_loop_member(struct vv_jinja_run *run, struct vv_jinja_loop *loop, struct vv_text name,
                         const struct vv_jinja_node *node, struct vv_value *out) {
    *out = (struct vv_value){.type = VV_VALUE_UNDEFINED, .of.node = node};
    if (vv_text_is(name, "index0")) {
        set_size(out, loop->index);
    } else if (vv_text_is(name, "index")) {
        set_size(out, loop->index + 1);
    } else if (vv_text_is(name, "first")) {
        *out = vv_value_bool(loop->index == 0, false);
    } else if (vv_text_is(name, "depth")) {
        set_size(out, loop->depth + 1);
    } else if (vv_text_is(name, "depth0")) {
        set_size(out, loop->depth);
    } else if (vv_text_is(name, "length") || vv_text_is(name, "revindex") ||
               vv_text_is(name, "revindex0")) {
        return count_member(run, loop, name, out);
    } else if (vv_text_is(name, "last") || vv_text_is(name, "nextitem") ||
               vv_text_is(name, "previtem")) {
        return neighbour(run, loop, name, node, out);
    }
    return VV_OK;
}

int vv_jinja_loop_cycle(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    size_t choices = call->count - 1;
    if (choices == 0) {
        return vv_jinja_refuse(run, "loop.cycle needs something to choose from");
    }
    *out = call->values[1 + call->values[0].of.loop->index % choices];
    return VV_OK;
}

int vv_jinja_loop_changed(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                          struct vv_value *out) {
    struct vv_jinja_loop *loop = call->values[0].of.loop;
    size_t count = call->count - 1;
    bool same = loop->changed_before && loop->last_changed_count == count;
    for (size_t i = 0; same && i < count; i++) {
        int status =
            vv_jinja_compare(run, VV_EQUAL, &loop->last_changed[i], &call->values[i + 1], &same);
        if (status != VV_OK) {
            return status;
        }
    }
    loop->changed_before = true;
    loop->last_changed = call->values + 1;
    loop->last_changed_count = count;
    *out = vv_value_bool(!same, false);
    return VV_OK;
}

/* ---- Going through it ---- */

/* Goes on to the next item; `*more` says whether there is one. */
static int advance(struct vv_jinja_run *run, struct vv_jinja_loop *loop, bool *more) {
    int status = peek(run, loop);
    *more = status == VV_OK && vv_is_given(&loop->after);
    if (*more) {
        loop->index++;
        loop->before = loop->now;
        loop->now = loop->after;
        loop->peeked = false;
    }
    return status;
}

/* One round, in a scope whose variables are gone at the next. */
static int execute_round(struct vv_jinja_run *run, struct vv_jinja_loop *loop) {
    struct vv_value self = {.type = VV_VALUE_LOOP, .of.loop = loop};
    run->frame->count = 0;
    int status = vv_jinja_set(run, (struct vv_text){"loop", 4}, &self);
    status = status == VV_OK ? vv_jinja_assign(run, loop->node->a, &loop->now) : status;
    return status == VV_OK ? vv_jinja_execute(run, loop->node->d) : status;
}

static int execute_rounds(struct vv_jinja_run *run, struct vv_jinja_loop *loop) {
    int flow = VV_FLOW_ON;
    bool more;
    loop->index = SIZE_MAX; /* one before the first */
    while (flow != VV_FLOW_BREAK) {
        run->at = loop->node->at;
        int status = vv_jinja_charge(run, 1);
        status = status == VV_OK ? advance(run, loop, &more) : status;
        if (status != VV_OK || !more) {
            return status;
        }
        flow = execute_round(run, loop);
        if (flow < 0) {
            return flow;
        }
        loop->completed = loop->completed || flow == VV_FLOW_ON;
    }
    return VV_OK;
}

/* Goes through `value`; the else body is for when no round came to its end. */
static int run_loop(struct vv_jinja_run *run, const struct vv_jinja_node *node,
                    struct vv_jinja_frame *outside, const struct vv_value *value, unsigned depth) {
    struct vv_jinja_loop *loop = vv_arena_take(&run->arena, 1, sizeof *loop, run->error);
    struct vv_jinja_frame *before = run->frame;
    struct vv_jinja_frame *inside = loop ? vv_jinja_open_frame(run, outside) : NULL;
    if (!inside) {
        return run->error->code;
    }
    struct vv_value absent = {.type = VV_VALUE_ABSENT};
    *loop = (struct vv_jinja_loop){.node = node,
                                   .outer = run->loop,
                                   .outside = outside,
                                   .depth = depth,
                                   .before = absent,
                                   .now = absent,
                                   .after = absent};
    int status = vv_jinja_items(run, value, &loop->items, &loop->count);
    loop->length = node->c ? SIZE_MAX : loop->count;
    run->loop = loop;
    run->frame = inside;
    status = status == VV_OK ? execute_rounds(run, loop) : status;
    if (status == VV_OK) {
        run->loop = loop->outer; /* after an error it stays, for the message */
    }
    if (status == VV_OK && !loop->completed) {
        inside->count = 0;
        status = vv_jinja_execute(run, node->e);
    }
    run->frame = before;
    return status;
}

int vv_jinja_execute_loop(struct vv_jinja_run *run, const struct vv_jinja_node *node) {
    struct vv_value value;
    int status = vv_jinja_evaluate(run, node->b, &value);
    run->at = status == VV_OK ? node->at : run->at;
    return status == VV_OK ? run_loop(run, node, run->frame, &value, 0) : status;
}

int vv_jinja_call_loop(struct vv_jinja_run *run, struct vv_jinja_loop *loop,
                       const struct vv_jinja_call *call, struct vv_value *out) {
    if (!loop->node->recursive) {
        return vv_jinja_refuse(run, "only a loop marked 'recursive' can be called");
    }
    if (call->count != 1 || call->named_count > 0) {
        return vv_jinja_refuse(run, "a recursive loop is called with what it shall go through");
    }
    struct vv_buffer *outer = run->out, *buffer = vv_jinja_buffer(run, 0);
    if (!buffer) {
        return run->error->code;
    }
    run->out = buffer;
    int status = run_loop(run, loop->node, loop->outside, &call->values[0], loop->depth + 1);
    run->out = outer;
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

/* ---- Messages ---- */

bool vv_jinja_counted_item(const struct vv_jinja_run *run, size_t *index) {
    const struct vv_value *counted = &run->options->counted;
    const struct vv_value *items =
        counted->type == VV_VALUE_LIST ? vv_list_items(counted->of.list) : NULL;
    for (const struct vv_jinja_loop *loop = run->loop; items && loop; loop = loop->outer) {
        for (size_t i = 0; loop->now.type == VV_VALUE_DICT && i < counted->of.list->count; i++) {
            if (items[i].type == VV_VALUE_DICT && items[i].of.dict == loop->now.of.dict) {
                *index = i;
                return true;
            }
        }
    }
    return false;
}
