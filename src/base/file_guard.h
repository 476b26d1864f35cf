/* Inside base: the list of mappings that vv_file_guard_mappings (base/file.h) watches over. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct vv_file_guard;

/* Enters a mapping into the list; NULL: no memory. */
struct vv_file_guard *vv_file_guard_begin(const void *bytes, size_t size);

/* Takes it out, before it is unmapped. */
void vv_file_guard_end(struct vv_file_guard *guard);

/* Whether pages of it had to be replaced by zeros. */
bool vv_file_guard_lost(const struct vv_file_guard *guard);
