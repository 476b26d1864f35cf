#include "gguf/writer.h"

#include "gguf/internal.h"

#include <stdlib.h>
#include <string.h>

struct buffer {
    unsigned char *bytes;
    size_t size, capacity;
};

struct declared {
    char *name;
    int type;
    uint32_t dimensions;
    uint64_t ne[4];
    uint64_t bytes;
};

struct vv_gguf_writer {
    char *path;
    struct vv_output *output;
    struct buffer entries; /* the metadata as they will stand in the file */
    uint64_t entry_count;
    struct declared *tensors; /* [tensor_count], room for tensor_capacity */
    size_t tensor_count, tensor_capacity;
    bool begun; /* the header is written */
    uint32_t alignment;
    size_t current; /* the tensor whose data come next */
    uint64_t done;  /* bytes of it that have come */
};

/* Appending to a buffer: VV_OK or VV_ERROR_MEMORY. */
static int append(struct buffer *b, const void *bytes, size_t size, struct vv_error *error) {
    if (size > b->capacity - b->size) {
        size_t capacity = size > SIZE_MAX / 2 - b->size ? 0 : 2 * (b->size + size);
        unsigned char *larger = capacity ? realloc(b->bytes, capacity) : NULL;
        if (!larger) {
            return vv_fail_memory(error, size, "the header of a model file");
        }
        b->bytes = larger;
        b->capacity = capacity;
    }
    if (size > 0) {
        memcpy(b->bytes + b->size, bytes, size);
    }
    b->size += size;
    return VV_OK;
}

static int append_u32(struct buffer *b, uint32_t value, struct vv_error *error) {
    return append(b, &value, sizeof value, error);
}

static int append_u64(struct buffer *b, uint64_t value, struct vv_error *error) {
    return append(b, &value, sizeof value, error);
}

static int append_string(struct buffer *b, const void *at, size_t length, struct vv_error *error) {
    int code = append_u64(b, length, error);
    return code == VV_OK ? append(b, at, length, error) : code;
}

int vv_gguf_writer_new(const char *name, struct vv_gguf_writer **out, struct vv_error *error) {
    struct vv_gguf_writer *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w || !(w->path = strdup(name))) {
        free(w);
        return vv_fail_memory(error, sizeof *w + strlen(name), "the record of a model file");
    }
    *out = w;
    return VV_OK;
}

int vv_gguf_writer_open(const char *path, struct vv_gguf_writer **out, struct vv_error *error) {
    struct vv_gguf_writer *w;
    int code = vv_gguf_writer_new(path, &w, error);
    *out = NULL;
    if (code == VV_OK && (code = vv_output_open(path, &w->output, error)) != VV_OK) {
        vv_gguf_writer_abandon(w);
        w = NULL;
    }
    *out = w;
    return code;
}

void vv_gguf_writer_abandon(struct vv_gguf_writer *w) {
    if (w) {
        vv_output_abandon(w->output);
        for (size_t i = 0; i < w->tensor_count; i++) {
            free(w->tensors[i].name);
        }
        free(w->tensors);
        free(w->entries.bytes);
        free(w->path);
        free(w);
    }
}

/* A key and its value's type. What keys must be is checked with the whole header in `begin`. */
static int put_key(struct vv_gguf_writer *w, const void *key, size_t length, int type,
                   struct vv_error *error) {
    if (w->begun) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: key '%.*s' comes after the first tensor data, too late for it",
                       vv_path_tail(w->path), VV_GGUF_SHOW(key, length));
    }
    w->entry_count++;
    int code = append_string(&w->entries, key, length, error);
    return code == VV_OK ? append_u32(&w->entries, (uint32_t)type, error) : code;
}

static int put_value(struct vv_gguf_writer *w, const char *key, int type, const void *value,
                     size_t size, struct vv_error *error) {
    int code = put_key(w, key, strlen(key), type, error);
    return code == VV_OK ? append(&w->entries, value, size, error) : code;
}

int vv_gguf_writer_u32(struct vv_gguf_writer *w, const char *key, uint32_t value,
                       struct vv_error *error) {
    return put_value(w, key, VV_GGUF_U32, &value, sizeof value, error);
}

int vv_gguf_writer_u64(struct vv_gguf_writer *w, const char *key, uint64_t value,
                       struct vv_error *error) {
    return put_value(w, key, VV_GGUF_U64, &value, sizeof value, error);
}

int vv_gguf_writer_f32(struct vv_gguf_writer *w, const char *key, float value,
                       struct vv_error *error) {
    return put_value(w, key, VV_GGUF_F32, &value, sizeof value, error);
}

int vv_gguf_writer_bool(struct vv_gguf_writer *w, const char *key, bool value,
                        struct vv_error *error) {
    unsigned char byte = value;
    return put_value(w, key, VV_GGUF_BOOL, &byte, sizeof byte, error);
}

int vv_gguf_writer_string(struct vv_gguf_writer *w, const char *key, struct vv_string value,
                          struct vv_error *error) {
    int code = put_key(w, key, strlen(key), VV_GGUF_STRING, error);
    return code == VV_OK ? append_string(&w->entries, value.at, value.length, error) : code;
}

static int put_array(struct vv_gguf_writer *w, const void *key, size_t length, int element_type,
                     uint64_t count, struct vv_error *error) {
    int code = put_key(w, key, length, VV_GGUF_ARRAY, error);
    if (code == VV_OK) {
        code = append_u32(&w->entries, (uint32_t)element_type, error);
    }
    return code == VV_OK ? append_u64(&w->entries, count, error) : code;
}

int vv_gguf_writer_strings(struct vv_gguf_writer *w, const char *key,
                           const struct vv_string *values, uint64_t count, struct vv_error *error) {
    int code = put_array(w, key, strlen(key), VV_GGUF_STRING, count, error);
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = append_string(&w->entries, values[i].at, values[i].length, error);
    }
    return code;
}

int vv_gguf_writer_array(struct vv_gguf_writer *w, const char *key, int element_type,
                         const void *values, uint64_t count, struct vv_error *error) {
    int bytes = vv_gguf_value_bytes((uint32_t)element_type);
    if (bytes <= 0 || count > SIZE_MAX / (size_t)bytes) {
        return vv_fail(error, VV_ERROR_INVALID, "%s: key '%s' cannot be an array of %llu %s",
                       vv_path_tail(w->path), key, (unsigned long long)count,
                       vv_gguf_type_name(element_type));
    }
    int code = put_array(w, key, strlen(key), element_type, count, error);
    return code == VV_OK ? append(&w->entries, values, (size_t)count * (size_t)bytes, error) : code;
}

int vv_gguf_writer_entry(struct vv_gguf_writer *w, const struct vv_gguf_entry *entry,
                         struct vv_error *error) {
    int code =
        entry->type == VV_GGUF_ARRAY
            ? put_array(w, entry->key, entry->key_length, entry->element_type, entry->count, error)
            : put_key(w, entry->key, entry->key_length, entry->type, error);
    return code == VV_OK ? append(&w->entries, entry->bytes, (size_t)entry->size, error) : code;
}

static int refuse_tensor(const struct vv_gguf_writer *w, const char *name, const char *what,
                         struct vv_error *error) {
    return vv_fail(error, VV_ERROR_INVALID, "%s: tensor '%.*s' %s", vv_path_tail(w->path),
                   VV_GGUF_NAME_SHOWN, name, what);
}

/* Type, shape and bytes of a tensor that is declared. */
static int describe(const struct vv_gguf_writer *w, const char *name, int type, uint32_t dimensions,
                    const uint64_t *ne, struct declared *t, struct vv_error *error) {
    const struct vv_type_info *info = vv_type_info(type);
    uint64_t elements = 1;
    *t = (struct declared){.type = type, .dimensions = dimensions};
    if (w->begun) {
        return refuse_tensor(w, name, "comes after the first tensor data, too late for it", error);
    }
    if (!info || !*name || strlen(name) > VV_GGUF_NAME_LIMIT || dimensions > 4) {
        return refuse_tensor(w, name, "has a type, a name or more dimensions than GGUF has", error);
    }
    for (uint32_t i = 0; i < dimensions; i++) {
        if (ne[i] == 0 || ne[i] > INT64_MAX / elements) {
            return refuse_tensor(w, name, "has no elements, or more than can be counted", error);
        }
        t->ne[i] = ne[i];
        elements *= ne[i];
    }
    if ((dimensions ? ne[0] : 1) % info->block_values != 0 ||
        !vv_type_bytes(type, elements, &t->bytes)) {
        return refuse_tensor(w, name, "has rows that are no whole blocks of its type", error);
    }
    return VV_OK;
}

int vv_gguf_writer_tensor(struct vv_gguf_writer *w, const char *name, int type, uint32_t dimensions,
                          const uint64_t *ne, struct vv_error *error) {
    struct declared t;
    int code = describe(w, name, type, dimensions, ne, &t, error);
    if (code != VV_OK) {
        return code;
    }
    if (w->tensor_count == w->tensor_capacity) {
        size_t capacity = 2 * w->tensor_capacity + 16;
        struct declared *larger = realloc(w->tensors, capacity * sizeof *larger);
        if (!larger) {
            return vv_fail_memory(error, capacity * sizeof *larger, "the tensors of a model");
        }
        w->tensors = larger;
        w->tensor_capacity = capacity;
    }
    if (!(t.name = strdup(name))) {
        return vv_fail_memory(error, strlen(name) + 1, "the tensors of a model");
    }
    w->tensors[w->tensor_count++] = t;
    return VV_OK;
}

/* Everything before the tensor records. */
static int append_header(const struct vv_gguf_writer *w, uint64_t tensors, struct buffer *b,
                         struct vv_error *error) {
    int code = append(b, "GGUF", 4, error);
    if (code != VV_OK || (code = append_u32(b, 3, error)) != VV_OK ||
        (code = append_u64(b, tensors, error)) != VV_OK ||
        (code = append_u64(b, w->entry_count, error)) != VV_OK) {
        return code;
    }
    return append(b, w->entries.bytes, w->entries.size, error);
}

/* The reader judges the metadata, and says how the data are to be aligned. */
static int check_entries(struct vv_gguf_writer *w, struct vv_error *error) {
    struct buffer header = {0};
    struct vv_gguf_shard shard = {0};
    int code = append_header(w, 0, &header, error);
    if (code == VV_OK) {
        code = vv_file_from_memory(header.bytes, header.size, w->path, &shard.file, error);
    }
    if (code == VV_OK) {
        code = vv_gguf_parse(&shard, error);
    }
    w->alignment = shard.alignment;
    vv_gguf_free_shard(&shard);
    free(header.bytes);
    return code;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct vv_gguf_writer *w, struct vv_error *error) {
    size_t n = w->tensor_count;
    const char **names = malloc((n ? n : 1) * sizeof *names);
    int code = VV_OK;
    if (!names) {
        return vv_fail_memory(error, n * sizeof *names, "the tensors of a model");
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = w->tensors[i].name;
    }
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n && code == VV_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            code = refuse_tensor(w, names[i], "is declared twice", error);
        }
    }
    free(names);
    return code;
}

static int append_tensor(const struct declared *t, uint64_t offset, struct buffer *b,
                         struct vv_error *error) {
    int id = t->type == VV_TYPE_Q2_0_128 ? VV_TYPE_Q2_0 : t->type;
    int code = append_string(b, t->name, strlen(t->name), error);
    if (code != VV_OK || (code = append_u32(b, t->dimensions, error)) != VV_OK ||
        (code = append(b, t->ne, t->dimensions * sizeof *t->ne, error)) != VV_OK ||
        (code = append_u32(b, (uint32_t)id, error)) != VV_OK) {
        return code;
    }
    return append_u64(b, offset, error);
}

/* Zeros up to the next multiple of the alignment. */
static int pad(struct vv_gguf_writer *w, struct vv_error *error) {
    static const unsigned char zeros[4096];
    uint64_t rest = (0 - vv_output_size(w->output)) & (w->alignment - 1);
    int code = VV_OK;
    for (size_t n; rest > 0 && code == VV_OK; rest -= n) {
        n = rest < sizeof zeros ? (size_t)rest : sizeof zeros;
        code = vv_output_write(w->output, zeros, n, error);
    }
    return code;
}

/* Ends the declarations: all that comes before the data. */
static int make_header(struct vv_gguf_writer *w, struct buffer *header, struct vv_error *error) {
    uint64_t offset = 0;
    int code = check_entries(w, error);
    if (code != VV_OK || (code = check_names(w, error)) != VV_OK) {
        return code;
    }
    code = append_header(w, w->tensor_count, header, error);
    for (size_t i = 0; i < w->tensor_count && code == VV_OK; i++) {
        code = append_tensor(&w->tensors[i], offset, header, error);
        offset += w->tensors[i].bytes;
        offset += (0 - offset) & (w->alignment - 1);
    }
    return code;
}

/* Writes it, padded. */
static int begin(struct vv_gguf_writer *w, struct vv_error *error) {
    struct buffer header = {0};
    int code = make_header(w, &header, error);
    if (code == VV_OK) {
        code = vv_output_write(w->output, header.bytes, header.size, error);
    }
    free(header.bytes);
    w->begun = true;
    return code == VV_OK ? pad(w, error) : code;
}

int vv_gguf_writer_data(struct vv_gguf_writer *w, const void *bytes, size_t size,
                        struct vv_error *error) {
    int code = w->begun ? VV_OK : begin(w, error);
    for (size_t n; size > 0 && code == VV_OK; size -= n) {
        if (w->current == w->tensor_count) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "%s: %zu bytes more came than its %zu tensors take",
                           vv_path_tail(w->path), size, w->tensor_count);
        }
        uint64_t rest = w->tensors[w->current].bytes - w->done;
        n = rest < size ? (size_t)rest : size;
        code = vv_output_write(w->output, bytes, n, error);
        bytes = (const char *)bytes + n;
        w->done += n;
        if (code == VV_OK && n == rest) {
            code = pad(w, error);
            w->current++;
            w->done = 0;
        }
    }
    return code;
}

int vv_gguf_writer_finish(struct vv_gguf_writer *w, struct vv_error *error) {
    int code = w->begun ? VV_OK : begin(w, error);
    if (code == VV_OK && w->current < w->tensor_count) {
        const struct declared *t = &w->tensors[w->current];
        code = vv_fail(error, VV_ERROR_INVALID,
                       "%s: %llu bytes of tensor '%.*s' and what follows it have not come",
                       vv_path_tail(w->path), (unsigned long long)(t->bytes - w->done),
                       VV_GGUF_NAME_SHOWN, t->name);
    }
    if (code == VV_OK) {
        code = vv_output_finish(w->output, error);
        w->output = NULL;
    }
    vv_gguf_writer_abandon(w);
    return code;
}

int vv_gguf_writer_describe(struct vv_gguf_writer *w, struct vv_gguf **out,
                            struct vv_error *error) {
    struct buffer header = {0};
    *out = NULL;
    int code = make_header(w, &header, error);
    if (code == VV_OK) {
        code = vv_gguf_open_description(header.bytes, header.size, w->path, out, error);
    }
    free(header.bytes);
    vv_gguf_writer_abandon(w);
    return code;
}
