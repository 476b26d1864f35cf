#include "support/gguf_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what) {
    if (!good) {
        perror(what);
        abort();
    }
}

void gguf_bytes_free(struct gguf_bytes *b) {
    free(b->at);
    *b = (struct gguf_bytes){0};
}

void gguf_put(struct gguf_bytes *b, const void *bytes, size_t size) {
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->at = realloc(b->at, b->capacity);
        check(b->at != NULL, "gguf_put");
    }
    if (size > 0) {
        memcpy(b->at + b->size, bytes, size);
        b->size += size;
    }
}

void gguf_put_u32(struct gguf_bytes *b, uint32_t value) {
    gguf_put(b, &value, sizeof value);
}

void gguf_put_u64(struct gguf_bytes *b, uint64_t value) {
    gguf_put(b, &value, sizeof value);
}

void gguf_put_string(struct gguf_bytes *b, const char *text) {
    gguf_put_u64(b, strlen(text));
    gguf_put(b, text, strlen(text));
}

void gguf_put_data(struct gguf_bytes *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)i;
        gguf_put(b, &byte, 1);
    }
}

void gguf_put_padding(struct gguf_bytes *b, size_t alignment) {
    while (b->size % alignment != 0) {
        gguf_put(b, "", 1);
    }
}

void gguf_put_header(struct gguf_bytes *b, uint32_t version, uint64_t tensors, uint64_t keys) {
    gguf_put(b, "GGUF", 4);
    gguf_put_u32(b, version);
    gguf_put_u64(b, tensors);
    gguf_put_u64(b, keys);
}

void gguf_put_key(struct gguf_bytes *b, const char *key, uint32_t type) {
    gguf_put_string(b, key);
    gguf_put_u32(b, type);
}

void gguf_put_key_u32(struct gguf_bytes *b, const char *key, uint32_t value) {
    gguf_put_key(b, key, VV_GGUF_U32);
    gguf_put_u32(b, value);
}

void gguf_put_key_string(struct gguf_bytes *b, const char *key, const char *value) {
    gguf_put_key(b, key, VV_GGUF_STRING);
    gguf_put_string(b, value);
}

void gguf_put_key_array(struct gguf_bytes *b, const char *key, uint32_t element_type,
                        uint64_t count) {
    gguf_put_key(b, key, VV_GGUF_ARRAY);
    gguf_put_u32(b, element_type);
    gguf_put_u64(b, count);
}

void gguf_put_tensor(struct gguf_bytes *b, const char *name, uint32_t dimensions,
                     const uint64_t *ne, uint32_t type, uint64_t offset) {
    gguf_put_string(b, name);
    gguf_put_u32(b, dimensions);
    gguf_put(b, ne, dimensions * sizeof *ne);
    gguf_put_u32(b, type);
    gguf_put_u64(b, offset);
}

void gguf_put_tensor_1d(struct gguf_bytes *b, const char *name, uint64_t ne0, uint32_t type,
                        uint64_t offset) {
    gguf_put_tensor(b, name, 1, &ne0, type, offset);
}

struct gguf_bytes gguf_small_file(void) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 2, 2);
    gguf_put_key_string(&b, "general.architecture", "test");
    gguf_put_key_u32(&b, "test.block_count", 7);
    gguf_put_tensor_1d(&b, "first", 8, VV_TYPE_F32, 0);
    gguf_put_tensor_1d(&b, "second", 4, VV_TYPE_F32, 32);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 48);
    return b;
}

int gguf_try(const struct gguf_bytes *b, struct vv_error *error) {
    struct vv_gguf *g;
    int code = vv_gguf_open_memory(b->at, b->size, "file.gguf", &g, error);
    vv_gguf_close(g);
    return code;
}

void gguf_save(const struct gguf_bytes *b, const char *path) {
    FILE *file = fopen(path, "wb");
    check(file != NULL, path);
    check(b->size == 0 || fwrite(b->at, 1, b->size, file) == b->size, path);
    check(fclose(file) == 0, path);
}
