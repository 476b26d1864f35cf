#include "text/answer/code.h"

/* Whether the line so far opens a block, if none is open. Among its words ` has no place: such a
 * run is code within a line. */
static bool opens(const struct vv_code *c) {
    return c->run >= 3 && !(c->run_mark == '`' && c->tick);
}

static void end_line(struct vv_code *c) {
    if (c->mark == 0 && opens(c)) {
        c->mark = c->run_mark;
        c->length = c->run;
    } else if (c->mark == c->run_mark && c->run >= c->length && !c->other) {
        c->mark = 0;
    }
    *c = (struct vv_code){.mark = c->mark, .length = c->length};
}

/* The run that opened code in the line and is still open once the last one is over. */
static size_t open_span(const struct vv_code *c) {
    return c->span == 0 ? c->ticks : c->span == c->ticks ? 0 : c->span;
}

static void feed_mark(struct vv_code *c, char byte) {
    if (!c->past && (c->run == 0 || byte == c->run_mark)) {
        c->run_mark = byte;
        c->run++;
        return;
    }
    c->past = c->other = true;
    c->tick = c->tick || byte == '`';
}

void vv_code_feed(struct vv_code *code, char byte) {
    bool blank = byte == ' ' || byte == '\t' || byte == '\r';
    if (byte == '\n') {
        end_line(code);
        return;
    }
    if (byte == '`') {
        code->ticks++;
    } else {
        code->span = open_span(code);
        code->ticks = 0;
    }
    if (byte == '`' || byte == '~') {
        feed_mark(code, byte);
    } else if (!blank || code->run > 0) {
        code->past = true;
        code->other = code->other || !blank;
    }
}

bool vv_code_inside(const struct vv_code *code) {
    return code->mark != 0 || opens(code) || open_span(code) > 0;
}
