/* JSON in and out, by jansson. */
#pragma once
#include <jansson.h>
#include <stddef.h>

/* A string of any bytes: ill-formed UTF-8 becomes U+FFFD. NULL if there is no memory, which
 * jansson's setters take as a failure. */
json_t *json_text(const char *text, size_t length);

/* Writes `value` to standard output on one line, and frees it. NULL (no memory) is an error on
 * standard error. Returns an exit code. */
int json_line(json_t *value);

/* The same over several lines, indented. */
int json_page(json_t *value);

/* Calls `each` for the JSON value of every line of standard input that is not blank, until one
 * returns no EXIT_DONE, or nobody reads the output any more. */
int json_lines(int (*each)(void *context, json_t *value, size_t number), void *context);
