/*
 * GGUF files put together byte by byte, right or wrong ones: nothing here checks anything. Numbers
 * are appended little-endian.
 */
#pragma once
#include "base/error.h"
#include "gguf/gguf.h"

#include <stddef.h>
#include <stdint.h>

struct gguf_bytes {
    unsigned char *at; /* [size], with room for capacity */
    size_t size, capacity;
};

void gguf_bytes_free(struct gguf_bytes *b);

void gguf_put(struct gguf_bytes *b, const void *bytes, size_t size);
void gguf_put_u32(struct gguf_bytes *b, uint32_t value);
void gguf_put_u64(struct gguf_bytes *b, uint64_t value);
void gguf_put_string(struct gguf_bytes *b, const char *text);
/* `count` bytes that count up, so that any shift shows. */
void gguf_put_data(struct gguf_bytes *b, size_t count);
/* Zeros up to a multiple of `alignment`. */
void gguf_put_padding(struct gguf_bytes *b, size_t alignment);

/* Magic, version, counts. */
void gguf_put_header(struct gguf_bytes *b, uint32_t version, uint64_t tensors, uint64_t keys);
/* A key and the type of its value, which is to follow. */
void gguf_put_key(struct gguf_bytes *b, const char *key, uint32_t type);
void gguf_put_key_u32(struct gguf_bytes *b, const char *key, uint32_t value);
void gguf_put_key_string(struct gguf_bytes *b, const char *key, const char *value);
/* The same for an array, whose elements are to follow. */
void gguf_put_key_array(struct gguf_bytes *b, const char *key, uint32_t element_type,
                        uint64_t count);
/* A tensor record; dimensions beyond `dimensions` are not written. */
void gguf_put_tensor(struct gguf_bytes *b, const char *name, uint32_t dimensions,
                     const uint64_t *ne, uint32_t type, uint64_t offset);
void gguf_put_tensor_1d(struct gguf_bytes *b, const char *name, uint64_t ne0, uint32_t type,
                        uint64_t offset);

/* A whole small file: a few keys and two float tensors of 8 and 4 values. */
struct gguf_bytes gguf_small_file(void);

/* Opens `b` from memory and closes it again; returns the code. */
int gguf_try(const struct gguf_bytes *b, struct vv_error *error);

/* Writes `b` to a file, whole. */
void gguf_save(const struct gguf_bytes *b, const char *path);
