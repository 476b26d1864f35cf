/*
 * Writing a GGUF file (version 3) as a stream: first the metadata, then what tensors there are,
 * then their data in the same order. Until it is finished the file exists only under a temporary
 * name (vv_output in base/file.h). Strings and keys may hold any bytes where a length is given.
 *
 * After a failure only vv_gguf_writer_abandon may follow.
 */
#pragma once
#include "gguf/gguf.h"

struct vv_gguf_writer;

int vv_gguf_writer_open(const char *path, struct vv_gguf_writer **out, struct vv_error *error);

/* A header alone, for vv_gguf_writer_describe: no file comes of it. `name` stands for its path. */
int vv_gguf_writer_new(const char *name, struct vv_gguf_writer **out, struct vv_error *error);

/* Metadata. A key given twice is an error when the data begin. "general.alignment" (uint32) is
 * obeyed; without it the data are aligned to 32 bytes. */
int vv_gguf_writer_u32(struct vv_gguf_writer *w, const char *key, uint32_t value,
                       struct vv_error *error);
int vv_gguf_writer_u64(struct vv_gguf_writer *w, const char *key, uint64_t value,
                       struct vv_error *error);
int vv_gguf_writer_f32(struct vv_gguf_writer *w, const char *key, float value,
                       struct vv_error *error);
int vv_gguf_writer_bool(struct vv_gguf_writer *w, const char *key, bool value,
                        struct vv_error *error);
int vv_gguf_writer_string(struct vv_gguf_writer *w, const char *key, struct vv_string value,
                          struct vv_error *error);
int vv_gguf_writer_strings(struct vv_gguf_writer *w, const char *key,
                           const struct vv_string *values /* [count] */, uint64_t count,
                           struct vv_error *error);
/* An array of numbers or bools: `element_type` is an enum vv_gguf_type other than string and array,
 * `values` as many elements of that type (bool: one byte). */
int vv_gguf_writer_array(struct vv_gguf_writer *w, const char *key, int element_type,
                         const void *values, uint64_t count, struct vv_error *error);
/* A copy of another file's entry. */
int vv_gguf_writer_entry(struct vv_gguf_writer *w, const struct vv_gguf_entry *entry,
                         struct vv_error *error);

/* Declares the next tensor. VV_TYPE_Q2_0_128 is written under the id of Q2_0. */
int vv_gguf_writer_tensor(struct vv_gguf_writer *w, const char *name, int type, uint32_t dimensions,
                          const uint64_t *ne /* [dimensions] */, struct vv_error *error);

/* Appends to the data: any pieces, tensors in their declared order, padding left to the writer. The
 * first call ends metadata and declarations. */
int vv_gguf_writer_data(struct vv_gguf_writer *w, const void *bytes, size_t size,
                        struct vv_error *error);

/* Every tensor's data must have come. Gives the file its name; frees `w`, on failure too. */
int vv_gguf_writer_finish(struct vv_gguf_writer *w, struct vv_error *error);

/* Opens what was declared, without any data; frees `w`, on failure too. */
int vv_gguf_writer_describe(struct vv_gguf_writer *w, struct vv_gguf **out, struct vv_error *error);

/* Removes what was written and frees `w`. NULL is let be. */
void vv_gguf_writer_abandon(struct vv_gguf_writer *w);
