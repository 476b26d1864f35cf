#include "text/grow.h"

#include <stdlib.h>
#include <string.h>

int vv_grow(void *at, size_t *capacity, size_t needed, size_t size, const char *what,
            struct vv_error *error) {
    if (needed <= *capacity) {
        return VV_OK;
    }
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < needed) {
        wanted = wanted > SIZE_MAX / 2 ? needed : wanted * 2;
    }
    if (wanted > SIZE_MAX / size) {
        return vv_fail_memory(error, ~0ull, what);
    }
    void *old;
    memcpy(&old, at, sizeof old);
    void *grown = realloc(old, wanted * size);
    if (!grown) {
        return vv_fail_memory(error, wanted * size, what);
    }
    memcpy(at, &grown, sizeof grown);
    *capacity = wanted;
    return VV_OK;
}

int vv_bytes_append(struct vv_bytes *bytes, const void *data, size_t length,
                    struct vv_error *error) {
    if (length > SIZE_MAX - bytes->length) {
        return vv_fail_memory(error, ~0ull, "a text");
    }
    int status = vv_grow(&bytes->at, &bytes->capacity, bytes->length + length, 1, "a text", error);
    if (status == VV_OK && length > 0) {
        memcpy(bytes->at + bytes->length, data, length);
        bytes->length += length;
    }
    return status;
}

void vv_bytes_free(struct vv_bytes *bytes) {
    free(bytes->at);
    *bytes = (struct vv_bytes){0};
}

int vv_ids_append(struct vv_ids *ids, int32_t id, struct vv_error *error) {
    int status =
        vv_grow(&ids->at, &ids->capacity, ids->count + 1, sizeof *ids->at, "token ids", error);
    if (status == VV_OK) {
        ids->at[ids->count++] = id;
    }
    return status;
}

void vv_ids_free(struct vv_ids *ids) {
    free(ids->at);
    *ids = (struct vv_ids){0};
}
