/*
 * Failures on demand: every call of the library for memory, files or threads goes through here (the
 * linker's --wrap), is counted, and the n-th one can be made to fail. What is taken and not given
 * back is counted too.
 */
#pragma once
#include <stddef.h>

/* Calls from now on are counted from 1; call number `fail_at` fails as the system would (0: none).
 */
void inject_begin(size_t fail_at);
/* Calls since then; nothing fails any more. */
size_t inject_end(void);
/* Whether the failing call was reached. */
int inject_failed(void);
/* Blocks of memory, mappings and files that are held now. */
long inject_held(void);
