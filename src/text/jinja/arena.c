#include "text/jinja/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BLOCK = 4096,
    LARGEST_BLOCK = 1 << 20, /* what is larger has a block of its own */
    ALIGNMENT = 16,
};

struct vv_arena_block {
    struct vv_arena_block *older;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
};

static struct vv_arena_block *add_block(struct vv_arena *arena, size_t needed,
                                        struct vv_error *error) {
    size_t size = arena->block ? arena->block->size * 2 : FIRST_BLOCK;
    size = size > LARGEST_BLOCK ? LARGEST_BLOCK : size;
    size = size < needed ? needed : size;
    struct vv_arena_block *block = malloc(sizeof *block + size);
    if (!block) {
        vv_fail_memory(error, size, "a chat template");
        return NULL;
    }
    *block = (struct vv_arena_block){.older = arena->block, .size = size};
    arena->block = block;
    return block;
}

void *vv_arena_take(struct vv_arena *arena, size_t count, size_t size, struct vv_error *error) {
    if (count > (SIZE_MAX / 2) / size) {
        vv_fail_memory(error, SIZE_MAX, "a chat template");
        return NULL;
    }
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->limit > 0 && (bytes > arena->limit || arena->used > arena->limit - bytes)) {
        vv_fail(error, VV_ERROR_INVALID, "this needs more memory than the limit of %zu bytes",
                arena->limit);
        return NULL;
    }
    struct vv_arena_block *block = arena->block;
    if (!block || bytes > block->size - block->used) {
        block = add_block(arena, bytes, error);
        if (!block) {
            return NULL;
        }
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    arena->used += bytes;
    return at;
}

int vv_arena_grow(struct vv_arena *arena, void *at, size_t used, size_t *capacity, size_t needed,
                  size_t size, struct vv_error *error) {
    if (needed <= *capacity) {
        return VV_OK;
    }
    size_t wanted = needed > SIZE_MAX / 2 ? needed : needed * 2;
    void *old, *grown = vv_arena_take(arena, wanted, size, error);
    if (!grown) {
        return error->code;
    }
    memcpy(&old, at, sizeof old);
    if (used > 0) {
        memcpy(grown, old, used * size);
    }
    memcpy(at, &grown, sizeof grown);
    *capacity = wanted;
    return VV_OK;
}

void vv_arena_free(struct vv_arena *arena) {
    for (struct vv_arena_block *block = arena->block, *older; block; block = older) {
        older = block->older;
        free(block);
    }
    *arena = (struct vv_arena){.limit = arena->limit};
}
