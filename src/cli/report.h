/* What goes to standard error: one sentence at a time, always printable. */
#pragma once

/* "varve: " and the sentence. */
void report(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* The same; returns EXIT_FAILED or EXIT_WRONG_USE, for `return fail(…)`. */
int fail(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
int fail_use(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* The sentence reported last. */
const char *report_last(void);
