/* Ill-formed UTF-8 and control characters, on their way to a terminal or into JSON. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `text` [length > 0], or of the part there that is ill-formed as far as
 * it goes (Unicode's "maximal subpart"). */
size_t utf8_step(const char *text, size_t length, bool *well_formed);

/* Makes a string fit for one line of a terminal: every control character and every byte that is no
 * part of a character becomes '?'. */
void utf8_printable(char *text);

/* A copy, ended by zero, in which every ill-formed part is U+FFFD; NULL if there is no memory. The
 * caller frees. */
char *utf8_clean(const char *text, size_t length, size_t *clean_length);
