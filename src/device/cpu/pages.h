/* Zeroed memory straight from the system: pages that nobody touches cost nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-byte aligned, on the NUMA nodes whose bits are set: page by page in turn on several; 0: where
 * the system likes. NULL: none left. */
void *vv_pages_new(size_t bytes, uint64_t nodes);
void vv_pages_free(void *at);

/* The same for what the calling thread brings into memory from now on, pages of mapped files too.
 * False: nothing was changed, since `nodes` is 0, the process was started with a policy of its own
 * (numactl), or the system refuses. */
bool vv_pages_prefer(uint64_t nodes);
/* Takes that back. */
void vv_pages_prefer_none(void);
