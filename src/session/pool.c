#include "session/pool.h"
#include "device/launch.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 256, BLOCKS_MOST = 4096 }; /* pieces are multiples of it */
static const size_t block_least = (size_t)32 << 20;

/* A stretch that nobody has. */
struct hole {
    uint8_t *at;
    size_t bytes;
};

struct vv_pool {
    struct vv_device *device;
    uint64_t limit, bytes, unused;
    struct hole blocks[BLOCKS_MOST]; /* all memory */
    size_t block_count;
    struct hole *holes; /* [hole_count] ascending, no two of them touch */
    size_t hole_count, hole_room;
    size_t pieces; /* that are out: each leaves one hole more behind at most */
};

struct vv_pool *vv_pool_new(struct vv_device *device, uint64_t limit) {
    struct vv_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        pool->device = device;
        pool->limit = limit;
    }
    return pool;
}

void vv_pool_free(struct vv_pool *pool) {
    if (pool) {
        for (size_t i = 0; i < pool->block_count; i++) {
            pool->device->launcher->unhost(pool->device, pool->blocks[i].at);
        }
        free(pool->holes);
        free(pool);
    }
}

static size_t rounded(size_t bytes) {
    return (bytes + PIECE - 1) / PIECE * PIECE;
}

/* Room for the holes there could be with a piece and a block more. */
static bool reserve(struct vv_pool *pool) {
    size_t most = pool->pieces + pool->block_count + 2;
    if (most <= pool->hole_room) {
        return true;
    }
    struct hole *holes = realloc(pool->holes, 2 * most * sizeof *holes);
    if (holes) {
        pool->holes = holes;
        pool->hole_room = 2 * most;
    }
    return holes != NULL;
}

/* The first hole behind `at`. */
static size_t hole_behind(const struct vv_pool *pool, const uint8_t *at) {
    size_t low = 0, high = pool->hole_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)pool->holes[middle].at < (uintptr_t)at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void remove_hole(struct vv_pool *pool, size_t i) {
    memmove(pool->holes + i, pool->holes + i + 1, (--pool->hole_count - i) * sizeof *pool->holes);
}

/* Adds a hole, joined with those that it touches. */
static void add_hole(struct vv_pool *pool, uint8_t *at, size_t bytes) {
    size_t i = hole_behind(pool, at);
    struct hole *h = pool->holes;
    pool->unused += bytes;
    if (i < pool->hole_count && at + bytes == h[i].at) {
        bytes += h[i].bytes;
        remove_hole(pool, i);
    }
    if (i > 0 && h[i - 1].at + h[i - 1].bytes == at) {
        h[i - 1].bytes += bytes;
        return;
    }
    memmove(h + i + 1, h + i, (pool->hole_count++ - i) * sizeof *h);
    h[i] = (struct hole){at, bytes};
}

/* One more block, of `bytes` or more if the limit allows. */
static bool grow(struct vv_pool *pool, size_t bytes) {
    uint64_t left = pool->limit - pool->bytes, want = bytes > block_least ? bytes : block_least;
    size_t size = (size_t)(want < left ? want : left) / PIECE * PIECE;
    if (size < bytes || size == 0 || pool->block_count == BLOCKS_MOST || !reserve(pool)) {
        return false;
    }
    uint8_t *at = pool->device->launcher->host(pool->device, size);
    if (at) {
        pool->blocks[pool->block_count++] = (struct hole){at, size};
        pool->bytes += size;
        add_hole(pool, at, size);
    }
    return at != NULL;
}

void vv_pool_provide(struct vv_pool *pool, uint64_t bytes) {
    if (pool->unused < bytes) {
        grow(pool, rounded((size_t)(bytes - pool->unused)));
    }
}

static uint8_t *cut(struct vv_pool *pool, size_t bytes) {
    for (size_t i = 0; i < pool->hole_count; i++) {
        struct hole *h = &pool->holes[i];
        if (h->bytes >= bytes) {
            uint8_t *at = h->at;
            *h = (struct hole){at + bytes, h->bytes - bytes};
            pool->unused -= bytes;
            pool->pieces++;
            if (h->bytes == 0) {
                remove_hole(pool, i);
            }
            return at;
        }
    }
    return NULL;
}

void *vv_pool_take(struct vv_pool *pool, size_t bytes) {
    size_t size = rounded(bytes);
    if (size < bytes || !reserve(pool)) {
        return NULL;
    }
    uint8_t *at = cut(pool, size);
    return at || !grow(pool, size) ? at : cut(pool, size);
}

bool vv_pool_give(struct vv_pool *pool, void *at, size_t bytes) {
    for (size_t i = 0; i < pool->block_count; i++) {
        uintptr_t offset = (uintptr_t)at - (uintptr_t)pool->blocks[i].at;
        if (offset < pool->blocks[i].bytes) {
            add_hole(pool, at, rounded(bytes));
            pool->pieces--;
            return true;
        }
    }
    return false;
}
