/* Memory that is given back all at once, with a limit on all of it together. */
#pragma once
#include "base/error.h"

#include <stddef.h>

struct vv_arena_block;

/* {0} is empty and has no limit. */
struct vv_arena {
    struct vv_arena_block *block; /* the newest */
    size_t used, limit;           /* bytes asked for; how many may be, 0: any number */
};

/*
 * Room for `count` elements of `size` bytes, aligned for any type. NULL fills the error:
 * VV_ERROR_INVALID at the limit, VV_ERROR_MEMORY where the system has no more.
 */
void *vv_arena_take(struct vv_arena *arena, size_t count, size_t size, struct vv_error *error);

/*
 * For arrays that grow: moves `*at` (a pointer to any type), of `used` elements of `size` bytes, to
 * where there is room for `needed`, and as many again. The old place stays readable.
 */
int vv_arena_grow(struct vv_arena *arena, void *at, size_t used, size_t *capacity, size_t needed,
                  size_t size, struct vv_error *error);

void vv_arena_free(struct vv_arena *arena);
