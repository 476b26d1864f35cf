/* Short forms for the lists of buffers that operations give in variants.c. */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"

static inline struct vv_buffer vv_reads(const void *at, size_t bytes) {
    return (struct vv_buffer){at, bytes, true, false};
}

/* Every byte is written, none is read. */
static inline struct vv_buffer vv_writes(const void *at, size_t bytes) {
    return (struct vv_buffer){at, bytes, false, true};
}

/* Changed in place, or written in part. */
static inline struct vv_buffer vv_updates(const void *at, size_t bytes) {
    return (struct vv_buffer){at, bytes, true, true};
}

/* All slots: which entries a window touches is known only when it runs. */
static inline struct vv_buffer vv_reads_state(const struct vv_state_view *view) {
    return vv_reads(view->base, view->bytes);
}

static inline struct vv_buffer vv_updates_state(const struct vv_state_view *view) {
    return vv_updates(view->base, view->bytes);
}

/* From the first element to the last of `rows` rows of `width` elements that lie `stride` apart. */
static inline size_t vv_extent(size_t rows, size_t stride, size_t width) {
    return rows > 0 ? (rows - 1) * stride + width : 0;
}
