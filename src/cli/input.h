/* What the commands read: text and token ids, from files, standard input and arguments. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_MOST = 256 << 20 }; /* bytes of a text: more is surely a mistake */

struct text {
    char *at; /* ended by a zero that does not count; free it */
    size_t length;
};

/* Appends to a text that grows; `room` is that of text->at, at first 0. Exit code. */
int text_append(struct text *text, size_t *room, const char *more, size_t length);

/* Reads a whole file, "-" being standard input. Returns an exit code, after an error on standard
 * error. */
int input_read(const char *path, struct text *text);

/* Reads up to the end of what is open already; `name` is for errors. */
int input_read_from(int descriptor, const char *name, struct text *text);

struct token_list {
    int32_t *at; /* free it */
    size_t count;
};

/* Reads token ids separated by blanks, line breaks or commas; `where` names the text in an error.
 * Only the form is checked: an id may be any number of 0 to 2^31 - 1. */
int input_tokens(const struct text *text, const char *where, struct token_list *tokens);
