/*
 * Code within a text (Markdown). What stands in it is shown to a reader, so nothing in it is a
 * call.
 *
 * A block begins with a line of three or more ` or ~, perhaps indented and with words behind, and
 * ends with a line of at least as many of the same and nothing else. Within a line, code lies
 * between two runs of ` of equal length.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Begin with {0}, at the beginning of a line. */
struct vv_code {
    char mark;     /* of the open block; 0: none is open */
    size_t length; /* of the run that opened it */
    /* The line so far: */
    char run_mark;
    size_t run;         /* marks that it begins with */
    bool past;          /* there is something behind them, */
    bool other;         /* and not only blanks, */
    bool tick;          /* and a ` among it */
    size_t span, ticks; /* of `, that opened code in the line; that it ends with */
};

void vv_code_feed(struct vv_code *code, char byte);

/* Whether a byte that comes next and is no ` lies in code, or in the line that opens a block. */
bool vv_code_inside(const struct vv_code *code);
