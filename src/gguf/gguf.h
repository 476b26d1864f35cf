/*
 * Reading GGUF files, version 2 and 3, one file or a split set. Everything is checked when the file
 * is opened: every count, length, offset and product against the bytes that are really there. After
 * that no call can run beyond the file, whatever it holds. docs/formats.md has the list of checks.
 *
 * Metadata lie in memory of their own, so they stay valid whatever happens to the file. Tensor data
 * are read in place through a mapping, or by plain reads.
 *
 * After opening, all functions may be called from several threads.
 */
#pragma once
#include "base/error.h"
#include "gguf/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_gguf;

struct vv_gguf_options {
    bool read; /* plain reads, no memory mapping */
};

/* Opens PATH, which may be any file of a split set: all of them are opened then. `options` may be
 * NULL. */
int vv_gguf_open(const char *path, const struct vv_gguf_options *options, struct vv_gguf **out,
                 struct vv_error *error);

/* The same for one whole file in memory (no part of a split set), which must outlive `*out`; `name`
 * stands for the path in messages. */
int vv_gguf_open_memory(const void *bytes, size_t size, const char *name, struct vv_gguf **out,
                        struct vv_error *error);

/*
 * Takes over `other`, for a part of a model in a file of its own: its files become further shards
 * of `g`, its tensors whose names begin with `prefix` are among those of `g` (the others are let
 * be), and `keys` [key_count], entries of its own, are found in place of, or beside, those of `g`
 * with these names. Both were opened alike, mapped or not. On a failure (a tensor of that name is
 * there already) nothing has changed.
 */
struct vv_gguf_entry;
int vv_gguf_attach(struct vv_gguf *g, struct vv_gguf *other, const char *prefix,
                   const struct vv_gguf_entry *const *keys, size_t key_count,
                   struct vv_error *error);

/* The same for a header alone, which is copied: metadata, and what tensors there would be.
 * vv_gguf_tensor_data gives NULL then, and vv_gguf_read_tensor an error. */
int vv_gguf_open_description(const void *bytes, size_t size, const char *name, struct vv_gguf **out,
                             struct vv_error *error);

/* Frees everything that came from `g`. NULL is let be. */
void vv_gguf_close(struct vv_gguf *g);

uint32_t vv_gguf_version(const struct vv_gguf *g);
uint32_t vv_gguf_alignment(const struct vv_gguf *g);               /* of the first file, bytes */
uint32_t vv_gguf_shard_count(const struct vv_gguf *g);             /* 1 if it is not split */
const char *vv_gguf_path(const struct vv_gguf *g, uint32_t shard); /* shard < shard_count */
uint64_t vv_gguf_file_bytes(const struct vv_gguf *g);              /* of all shards together */

/* False if opened with plain reads. */
bool vv_gguf_mapped(const struct vv_gguf *g);

/* True if it is a description, without the tensors' data. */
bool vv_gguf_described(const struct vv_gguf *g);

/* Fails, naming the file, if one of the files was cut short or written to since it was opened: to
 * be called after each window, since mapped weights may have changed under it (base/file.h has the
 * guard that keeps the process alive until then). */
int vv_gguf_check_unchanged(const struct vv_gguf *g, struct vv_error *error);

/* ---- Metadata: those of the first file of a set ---- */

/* Any bytes, zeros too; nothing terminates them. */
struct vv_string {
    const char *at;
    size_t length;
};

enum vv_gguf_type {
    VV_GGUF_U8 = 0,
    VV_GGUF_I8 = 1,
    VV_GGUF_U16 = 2,
    VV_GGUF_I16 = 3,
    VV_GGUF_U32 = 4,
    VV_GGUF_I32 = 5,
    VV_GGUF_F32 = 6,
    VV_GGUF_BOOL = 7,
    VV_GGUF_STRING = 8,
    VV_GGUF_ARRAY = 9,
    VV_GGUF_U64 = 10,
    VV_GGUF_I64 = 11,
    VV_GGUF_F64 = 12,
};

struct vv_gguf_entry {
    const char *key;   /* [key_length], not terminated */
    size_t key_length; /* 1 or more */
    int type;          /* enum vv_gguf_type */
    int element_type;  /* of an array's elements (never an array); else = type */
    uint64_t count;    /* elements of an array, 0 or more; else 1 */
    const unsigned char
        *bytes;              /* the value as it stands in the file: elements one after another, */
    uint64_t size;           /* in bytes; strings each with its length in front (64 bits) */
    const uint32_t *strings; /* [count]: where in `bytes` each string begins; else NULL */
};

/* In the order of the file; index < count. */
size_t vv_gguf_entry_count(const struct vv_gguf *g);
const struct vv_gguf_entry *vv_gguf_entry_at(const struct vv_gguf *g, size_t index);

/* NULL if there is none. */
const struct vv_gguf_entry *vv_gguf_find(const struct vv_gguf *g, const char *key);
bool vv_gguf_has(const struct vv_gguf *g, const char *key);

/* "uint32", "string", …; never NULL. */
const char *vv_gguf_type_name(int type);

/*
 * Element `index` of an entry (of one that is no array: 0). Numbers may be stored in any width: the
 * value is checked against the range asked for before it is cast. An integer may be read as f32
 * where that is exact; a float is never read as an integer; NaN and infinity are refused. Errors
 * (VV_ERROR_INVALID) name file, key, what is wanted and what was found.
 */
int vv_gguf_entry_u64(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      uint64_t *out, struct vv_error *error);
int vv_gguf_entry_i64(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      int64_t *out, struct vv_error *error);
int vv_gguf_entry_f32(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      float *out, struct vv_error *error);
int vv_gguf_entry_bool(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                       bool *out, struct vv_error *error);
/* Not copied: valid until `g` is closed. */
int vv_gguf_entry_string(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                         struct vv_string *out, struct vv_error *error);

/* The value of a key that must be there and be no array. */
int vv_gguf_get_u32(const struct vv_gguf *g, const char *key, uint32_t *out,
                    struct vv_error *error);
int vv_gguf_get_u64(const struct vv_gguf *g, const char *key, uint64_t *out,
                    struct vv_error *error);
int vv_gguf_get_i64(const struct vv_gguf *g, const char *key, int64_t *out, struct vv_error *error);
int vv_gguf_get_f32(const struct vv_gguf *g, const char *key, float *out, struct vv_error *error);
int vv_gguf_get_bool(const struct vv_gguf *g, const char *key, bool *out, struct vv_error *error);
int vv_gguf_get_string(const struct vv_gguf *g, const char *key, struct vv_string *out,
                       struct vv_error *error);

/* The array of a key that must be there; its elements by vv_gguf_entry_*. */
int vv_gguf_get_array(const struct vv_gguf *g, const char *key, const struct vv_gguf_entry **out,
                      struct vv_error *error);

/* Copies a whole array, which must be there and have `count` elements (the message has both
 * numbers). */
int vv_gguf_array_u32(const struct vv_gguf *g, const char *key, uint64_t count,
                      uint32_t *to /* [count] */, struct vv_error *error);
int vv_gguf_array_i32(const struct vv_gguf *g, const char *key, uint64_t count,
                      int32_t *to /* [count] */, struct vv_error *error);
int vv_gguf_array_u64(const struct vv_gguf *g, const char *key, uint64_t count,
                      uint64_t *to /* [count] */, struct vv_error *error);
int vv_gguf_array_f32(const struct vv_gguf *g, const char *key, uint64_t count,
                      float *to /* [count] */, struct vv_error *error);
int vv_gguf_array_bool(const struct vv_gguf *g, const char *key, uint64_t count,
                       bool *to /* [count] */, struct vv_error *error);

/* ---- Tensors: of all files of a set ---- */

struct vv_gguf_tensor {
    const char *name;
    int type;            /* enum vv_type; Q2_0 resolved to VV_TYPE_Q2_0_128 where it is that */
    uint32_t dimensions; /* 0 (one value) to 4 */
    uint64_t ne[4];      /* ne[0] is the row's length; 1 beyond `dimensions` */
    uint64_t elements;   /* the product of ne, 1 or more */
    uint64_t bytes;
    uint64_t offset; /* of the first byte, in its shard's file */
    uint32_t shard;
};

/* In the order of the files; index < count. */
size_t vv_gguf_tensor_count(const struct vv_gguf *g);
const struct vv_gguf_tensor *vv_gguf_tensor_at(const struct vv_gguf *g, size_t index);

/* NULL if there is none. O(log n). */
const struct vv_gguf_tensor *vv_gguf_find_tensor(const struct vv_gguf *g, const char *name);

/* The tensor's data [tensor->bytes] in the mapping; NULL if opened with plain reads. The address is
 * aligned as the file says: vv_gguf_alignment, 8 or more. */
const void *vv_gguf_tensor_data(const struct vv_gguf *g, const struct vv_gguf_tensor *tensor);

/* Copies `bytes` bytes from `offset` on (both within the tensor) by plain reads, mapped or not. A
 * file that has become shorter gives VV_ERROR_IO with file, tensor, offset, wanted and got bytes.
 */
int vv_gguf_read_tensor(const struct vv_gguf *g, const struct vv_gguf_tensor *tensor,
                        uint64_t offset, size_t bytes, void *to, struct vv_error *error);
