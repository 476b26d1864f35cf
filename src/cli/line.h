/* Lines of standard input: with editing and history where a person types and libedit is there. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct lines;

enum line_end {
    LINE_READ,
    LINE_ENDED,       /* no more lines */
    LINE_INTERRUPTED, /* by a signal: interrupt_take says which */
};

/* `edited`: standard input and standard output are a terminal. NULL: no memory. */
struct lines *lines_open(bool edited);
void lines_close(struct lines *lines);

/* The next line without its line break, valid until the next call. The prompt is shown if lines are
 * edited. */
enum line_end lines_read(struct lines *lines, const char *prompt, const char **text,
                         size_t *length);

/* One more entry of the history. */
void lines_remember(struct lines *lines, const char *text);
