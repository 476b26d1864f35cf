/* A GGUF file with its tensors in other types. */
#include "api/quantize.h"
#include "api/internal.h"
#include "base/file.h"
#include "quant/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the output must not be the input ---- */

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Neither the output nor the name that it has until it is complete may be a file of the input. */
static int refuse_input(const struct vv_gguf *file, const char *path, struct vv_error *error) {
    static const char suffix[] = ".partial";
    size_t room = strlen(path) + sizeof suffix;
    char *partial = malloc(room);
    int code = VV_OK;
    if (!partial) {
        return vv_fail_memory(error, room, "a file's name");
    }
    snprintf(partial, room, "%s%s", path, suffix);
    for (uint32_t s = 0; s < vv_gguf_shard_count(file) && code == VV_OK; s++) {
        if (same_file(vv_gguf_path(file, s), path) || same_file(vv_gguf_path(file, s), partial)) {
            code = vv_fail(error, VV_ERROR_INVALID,
                           "%s would be written over while it is read: choose another name for the "
                           "output",
                           vv_path_tail(vv_gguf_path(file, s)));
        }
    }
    free(partial);
    return code;
}

/* ---- metadata ---- */

/* The type that most values of the file have; with `choices`, that they will have. */
static int most_common(const struct vv_gguf *file, const struct vv_choice *choices) {
    uint64_t most = 0;
    int common = -1;
    for (size_t i = 0; vv_type_at(i); i++) {
        uint64_t values = 0;
        int type = vv_type_at(i)->type;
        for (size_t k = 0; k < vv_gguf_tensor_count(file); k++) {
            const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file, k);
            values += (choices ? choices[k].type : t->type) == type ? t->elements : 0;
        }
        if (values > most) {
            most = values;
            common = type;
        }
    }
    return common;
}

/* What other programs call a file by whose values are mostly of that type, in general.file_type;
 * -1: there is no name. */
static int file_type(int type) {
    static const struct {
        int type, id;
    } ids[] = {
        {VV_TYPE_F32, 0},      {VV_TYPE_F16, 1},     {VV_TYPE_Q4_0, 2},     {VV_TYPE_Q4_1, 3},
        {VV_TYPE_Q8_0, 7},     {VV_TYPE_Q5_0, 8},    {VV_TYPE_Q5_1, 9},     {VV_TYPE_Q2_K, 10},
        {VV_TYPE_Q3_K, 11},    {VV_TYPE_Q4_K, 14},   {VV_TYPE_Q5_K, 16},    {VV_TYPE_Q6_K, 18},
        {VV_TYPE_IQ2_XXS, 19}, {VV_TYPE_IQ2_XS, 20}, {VV_TYPE_IQ3_XXS, 23}, {VV_TYPE_IQ1_S, 24},
        {VV_TYPE_IQ4_NL, 25},  {VV_TYPE_IQ3_S, 26},  {VV_TYPE_IQ2_S, 28},   {VV_TYPE_IQ4_XS, 30},
        {VV_TYPE_IQ1_M, 31},   {VV_TYPE_BF16, 32},   {VV_TYPE_TQ1_0, 36},   {VV_TYPE_TQ2_0, 37},
        {VV_TYPE_MXFP4, 38},   {VV_TYPE_NVFP4, 39},  {VV_TYPE_Q1_0, 40},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (ids[i].type == type) {
            return ids[i].id;
        }
    }
    return -1;
}

static bool is_quantised(int type) {
    const struct vv_format *format = vv_format(type);
    return format && format->arithmetic != VV_ARITHMETIC_FLOAT;
}

static bool has_name(const struct vv_gguf_entry *entry, const char *name) {
    return entry->key_length == strlen(name) && memcmp(entry->key, name, entry->key_length) == 0;
}

/* The shards become one file. */
static bool is_of_split(const struct vv_gguf_entry *entry) {
    return has_name(entry, "split.no") || has_name(entry, "split.count") ||
           has_name(entry, "split.tensors.count");
}

static int copy_keys(const struct vv_gguf *file, bool new_type, struct vv_gguf_writer *writer,
                     struct vv_error *error) {
    int code = VV_OK;
    for (size_t i = 0; i < vv_gguf_entry_count(file) && code == VV_OK; i++) {
        const struct vv_gguf_entry *entry = vv_gguf_entry_at(file, i);
        if (!is_of_split(entry) && !has_name(entry, "general.quantization_version") &&
            !(new_type && has_name(entry, "general.file_type"))) {
            code = vv_gguf_writer_entry(writer, entry, error);
        }
    }
    return code;
}

static int write_keys(const struct vv_gguf *file, const struct vv_choice *choices,
                      struct vv_gguf_writer *writer, struct vv_error *error) {
    enum { LAYOUT_VERSION = 2 }; /* of all block formats in use */
    int type = most_common(file, choices), id = file_type(type);
    bool new_type = type != most_common(file, NULL) || !vv_gguf_has(file, "general.file_type");
    bool quantised = false;
    int code = copy_keys(file, new_type, writer, error);
    for (size_t t = 0; t < vv_gguf_tensor_count(file); t++) {
        quantised = quantised || is_quantised(choices[t].type);
    }
    if (code == VV_OK && quantised) {
        code = vv_gguf_writer_u32(writer, "general.quantization_version", LAYOUT_VERSION, error);
    }
    if (code == VV_OK && new_type && id >= 0) {
        code = vv_gguf_writer_u32(writer, "general.file_type", (uint32_t)id, error);
    }
    return code;
}

/* ---- tensors ---- */

static int declare(const struct vv_gguf *file, const struct vv_choice *choices,
                   struct vv_gguf_writer *writer, struct vv_error *error) {
    int code = VV_OK;
    for (size_t i = 0; i < vv_gguf_tensor_count(file) && code == VV_OK; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file, i);
        code = vv_gguf_writer_tensor(writer, t->name, choices[i].type, t->dimensions, t->ne, error);
    }
    return code;
}

static int write_tensors(struct vv_quantizer *q, const struct vv_choice *choices,
                         const struct varve_quantize_options *options, struct vv_error *error) {
    int code = VV_OK;
    for (size_t i = 0; i < vv_gguf_tensor_count(q->file) && code == VV_OK; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(q->file, i);
        struct varve_quantized result = {
            .name = t->name,
            .from = vv_type_name(t->type),
            .to = vv_type_name(choices[i].type),
            .elements = t->elements,
            .bytes_before = t->bytes,
            .encoded = choices[i].type != t->type,
            .requantised = choices[i].type != t->type && is_quantised(t->type),
            .fell_back = choices[i].fell_back,
        };
        vv_type_bytes(choices[i].type, t->elements, &result.bytes);
        code = vv_quantizer_run(q, t, choices[i].type, &result, error);
        if (code == VV_OK && options->tensor) {
            options->tensor(options->context, &result);
        }
    }
    return code == VV_OK ? vv_gguf_check_unchanged(q->file, error) : code;
}

static int write_file(const struct vv_gguf *file, const char *path,
                      const struct varve_quantize_options *options, const struct vv_choice *choices,
                      struct vv_error *error) {
    struct vv_quantizer q = {
        .file = file, .progress = options->progress, .context = options->context};
    int code = vv_gguf_writer_open(path, &q.writer, error);
    if (code == VV_OK) {
        code = vv_quantizer_open(&q, options->threads, error);
    }
    if (code == VV_OK) {
        code = write_keys(file, choices, q.writer, error);
    }
    if (code == VV_OK) {
        code = declare(file, choices, q.writer, error);
    }
    if (code == VV_OK) {
        code = write_tensors(&q, choices, options, error);
    }
    vv_quantizer_close(&q);
    if (code == VV_OK) {
        return vv_gguf_writer_finish(q.writer, error);
    }
    vv_gguf_writer_abandon(q.writer);
    return code;
}

int varve_quantize(const struct varve_file *file, const char *path,
                   const struct varve_quantize_options *options, struct varve_error *error) {
    struct vv_error *e = vv_internal(error);
    size_t tensors = vv_gguf_tensor_count(file->gguf);
    struct vv_choice *choices = calloc(tensors + 1, sizeof *choices);
    int code = choices ? vv_quantize_choose(file->gguf, options, choices, e)
                       : vv_fail_memory(e, tensors * sizeof *choices, "the types of all tensors");
    if (code == VV_OK) {
        code = refuse_input(file->gguf, path, e);
    }
    if (code == VV_OK) {
        code = write_file(file->gguf, path, options, choices, e);
    }
    free(choices);
    return code;
}
