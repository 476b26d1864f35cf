/*
 * Memory for what is kept, in pieces out of large blocks that stay until the end: of a GPU's host
 * page-locked memory, which copies go to and from at the link's speed, but which takes long to get.
 */
#pragma once
#include "device/device.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_pool;

/* Of memory that a device's launcher gives, up to `limit` bytes in all. NULL: no memory. */
struct vv_pool *vv_pool_new(struct vv_device *device, uint64_t limit);
/* Every piece must have been given back. */
void vv_pool_free(struct vv_pool *pool);

/* Gets blocks until there are `bytes` that nobody has, or no more can be had. */
void vv_pool_provide(struct vv_pool *pool, uint64_t bytes);

/* A piece; NULL: the limit is reached, or there is no such memory left. */
void *vv_pool_take(struct vv_pool *pool, size_t bytes);
/* Whether it is one of the pool's; if so, gives it back. */
bool vv_pool_give(struct vv_pool *pool, void *at, size_t bytes);
