/* Arrays that grow: one function for all of them, and the two that everybody here uses. */
#pragma once
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `needed` elements of `size` bytes in `*at`, which has room for `*capacity`: at
 * least doubled, so that appending is linear in all. `*at` is a pointer to any type; it is NULL and
 * `*capacity` 0 at first. `what` goes into the sentence when memory is short; then nothing changes.
 */
int vv_grow(void *at, size_t *capacity, size_t needed, size_t size, const char *what,
            struct vv_error *error);

/* Bytes of a text being built; {0} is empty. Free with vv_bytes_free. */
struct vv_bytes {
    char *at;
    size_t length, capacity;
};

int vv_bytes_append(struct vv_bytes *bytes, const void *data, size_t length,
                    struct vv_error *error);
void vv_bytes_free(struct vv_bytes *bytes);

/* Token ids; {0} is empty. Free with vv_ids_free. */
struct vv_ids {
    int32_t *at;
    size_t count, capacity;
};

int vv_ids_append(struct vv_ids *ids, int32_t id, struct vv_error *error);
void vv_ids_free(struct vv_ids *ids);
