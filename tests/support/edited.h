/*
 * A model of tests/data with changes, for cases that no file in the tree has: read whole, changed
 * in memory, written as a file of its own. Keys and tensors are given by their full names; what
 * isn't there fails the test.
 */
#pragma once
#include "gguf/gguf.h"

enum { EDITED_KEYS_MAX = 96, EDITED_TENSORS_MAX = 256 };

struct edited_tensor {
    char name[64];
    int type;
    uint32_t dimensions;
    uint64_t ne[4]; /* 1 beyond `dimensions` */
    size_t size;
    unsigned char *data; /* [size] */
};

struct edited {
    struct vv_gguf *file;
    struct vv_gguf_entry keys[EDITED_KEYS_MAX];
    struct edited_tensor *tensors[EDITED_TENSORS_MAX];
    size_t key_count, tensor_count;
    void *owned[EDITED_KEYS_MAX]; /* copies that keys point into */
    size_t owned_count;
};

/* `name` below tests/data. */
struct edited *edited_open(const char *name);
void edited_close(struct edited *e);

/* Sets a key, there or not, to a value of this type as it stands in a file (a string: its length
 * in 64 bits, then its bytes), or to an array of numbers. */
void edited_set(struct edited *e, const char *key, int type, const void *value, size_t size);
void edited_set_u32(struct edited *e, const char *key, uint32_t value);
void edited_set_array(struct edited *e, const char *key, int element_type, const void *values,
                      uint64_t count, size_t element_size);
void edited_unset(struct edited *e, const char *key);

struct edited_tensor *edited_find(struct edited *e, const char *name); /* NULL: there is none */
struct edited_tensor *edited_tensor(struct edited *e, const char *name);
/* A new tensor of zeros, after the others. */
struct edited_tensor *edited_add(struct edited *e, const char *name, int type, uint32_t dimensions,
                                 const uint64_t *ne);
void edited_drop(struct edited *e, const char *name);
void edited_drop_all(struct edited *e);

size_t edited_count(const struct edited_tensor *t);  /* its values */
float *edited_floats(const struct edited_tensor *t); /* decoded; free them */
/* Stores the tensor's values in another type: F32, F16, BF16 or Q8_0. */
void edited_retype(struct edited_tensor *t, int type);

void edited_write(struct edited *e, const char *path);
/* As `count` files in `folder`, the metadata in the first; gives the path of the first. */
const char *edited_write_split(struct edited *e, const char *folder, uint16_t count);

/* Where the record of tensor `name` stands in the bytes of a file, behind the name: dimensions
 * (u32), as many ne (u64), type (u32), offset (u64). */
unsigned char *edited_record(unsigned char *bytes, size_t size, const char *name);
