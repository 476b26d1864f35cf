/*
 * Inside src/gguf: how a file becomes a `struct vv_gguf`.
 *
 *   parse.c   one file's header, from a private copy: metadata, tensor records
 *   place.c   where the tensors' bytes are, and that they are there
 *   split.c   the other files of a split set, their order and completeness
 *   open.c    puts these together
 *   value.c   typed access to metadata
 */
#pragma once
#include "base/file.h"
#include "gguf/gguf.h"

enum {
    VV_GGUF_DEFAULT_ALIGNMENT = 32,
    VV_GGUF_LEAST_ALIGNMENT = 8,
    VV_GGUF_HEADER_LIMIT = 1 << 28, /* bytes; vocabularies take some 10 MB. Fits uint32_t */
    VV_GGUF_NAME_LIMIT = 65535,     /* bytes of a key or name */
    VV_GGUF_NAME_SHOWN = 100,       /* of those in a message */
};

/* One file of a set. */
struct vv_gguf_shard {
    struct vv_file file;
    unsigned char
        *header; /* a copy of the file's beginning; keys, values and names point into it */
    uint32_t version, alignment;
    uint32_t number;                     /* split.no */
    struct vv_gguf_entry *entries;       /* [entry_count] */
    const struct vv_gguf_entry **by_key; /* [entry_count] in the order of their keys */
    struct vv_gguf_tensor *tensors;      /* [tensor_count]; moved into vv_gguf.tensors */
    uint64_t *room;                      /* [tensor_count]: bytes up to what follows the tensor */
    size_t entry_count, tensor_count;
    uint64_t data_offset; /* tensor offsets count from here */
};

struct vv_gguf {
    struct vv_gguf_shard *shards; /* [shard_count], in the order of their numbers */
    uint32_t shard_count;
    bool described; /* there is a header and nothing else */
    size_t tensor_count;
    struct vv_gguf_tensor *tensors;        /* [tensor_count] */
    const struct vv_gguf_tensor **by_name; /* [tensor_count] in the order of their names */
    const struct vv_gguf_entry **attached; /* [attached_count] they go before the first shard's */
    size_t attached_count;
};

/* The file's path for messages. */
static inline const char *vv_gguf_label(const struct vv_gguf_shard *shard) {
    return vv_path_tail(shard->file.path);
}

/* For "%.*s": a name that may be long, and is not terminated. */
#define VV_GGUF_SHOW(at, length)                                                                   \
    (int)((length) < VV_GGUF_NAME_SHOWN ? (length) : VV_GGUF_NAME_SHOWN), (const char *)(at)

/* What to say of a file whose first `size` bytes are `bytes` and no GGUF header of version 2 or 3;
 * VV_OK if they are one. */
int vv_gguf_check_magic(const char *label, const unsigned char *bytes, size_t size,
                        struct vv_error *error);

/* Bytes of a value of a fixed size; 0 for strings and arrays; -1 if there is no such type. */
int vv_gguf_value_bytes(uint32_t type);

/* Reads and checks the header of shard->file, which is open: all fields but `room` are set. What
 * was allocated is freed by vv_gguf_free_shard, after a failure too. */
int vv_gguf_parse(struct vv_gguf_shard *shard, struct vv_error *error);
void vv_gguf_free_shard(struct vv_gguf_shard *shard);

/* Opens the other files of the set that shards[0] belongs to, if it is split. */
int vv_gguf_open_set(struct vv_gguf *g, struct vv_error *error);

/* With all shards parsed: checks that they are the whole of one set, orders them, checks where
 * their tensors lie, and gathers these. */
int vv_gguf_join(struct vv_gguf *g, struct vv_error *error);

/* Fills by_name from the tensors; fails if two have one name. */
int vv_gguf_index(struct vv_gguf *g, struct vv_error *error);

/* Tensor offsets of all shards: checked, and made to count from the beginning of the file; Q2_0
 * resolved. */
int vv_gguf_place(struct vv_gguf *g, struct vv_error *error);

/* vv_gguf_open_memory for all files of a split set, in any order; count is 1 or more. */
struct vv_gguf_part {
    const void *bytes;
    size_t size;
};
int vv_gguf_open_parts(const struct vv_gguf_part *parts, uint32_t count, const char *name,
                       struct vv_gguf **out, struct vv_error *error);

/* The entry of a shard with that key, or NULL. */
const struct vv_gguf_entry *vv_gguf_shard_find(const struct vv_gguf_shard *shard, const char *key);

/* An integer between 0 and `max` under a key; `*out` is left alone if there is none. */
int vv_gguf_shard_integer(const struct vv_gguf_shard *shard, const char *key, uint64_t max,
                          uint64_t *out, struct vv_error *error);
