/* Zeroed memory straight from the system: pages that nobody touches cost nothing. */
#pragma once
#include <stddef.h>

/* 64-byte aligned; NULL: none left. */
void *vv_pages_new(size_t bytes);
void vv_pages_free(void *at);
