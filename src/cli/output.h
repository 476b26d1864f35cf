/*
 * Standard output. What is written is kept in mind until output_finish, which says once what went
 * wrong: a reader who has gone away (a closed pipe) is no error, the program just ends.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void output_write(const char *text, size_t length);
void output_format(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Brings what was written so far to the reader. False once nothing more can be written: the work
 * may end. */
bool output_flush(void);

/* At the end: `code`, or EXIT_FAILED with a sentence if output was lost. */
int output_finish(int code);

/* "20.8 MB"; returns `text`. */
const char *bytes_text(uint64_t bytes, char text[32]);
