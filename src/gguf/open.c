#include "gguf/internal.h"

#include <stdlib.h>
#include <string.h>

/* A `struct vv_gguf` of so many shards, of which nothing is known yet; NULL: no memory. */
static struct vv_gguf *create(uint32_t shards, struct vv_error *error) {
    struct vv_gguf *g = calloc(1, sizeof *g);
    if (g && (g->shards = calloc(shards, sizeof *g->shards))) {
        g->shard_count = shards;
        return g;
    }
    free(g);
    vv_fail_memory(error, sizeof *g + shards * sizeof *g->shards, "the record of a model file");
    return NULL;
}

static int map_all(struct vv_gguf *g, struct vv_error *error) {
    int code = VV_OK;
    for (uint32_t k = 0; k < g->shard_count && code == VV_OK; k++) {
        code = vv_file_map(&g->shards[k].file, error);
    }
    return code;
}

static int open_path(struct vv_gguf *g, const char *path, bool map, struct vv_error *error) {
    int code = vv_file_open(path, &g->shards[0].file, error);
    if (code != VV_OK || (code = vv_gguf_parse(&g->shards[0], error)) != VV_OK ||
        (code = vv_gguf_open_set(g, error)) != VV_OK || (code = vv_gguf_join(g, error)) != VV_OK) {
        return code;
    }
    return map ? map_all(g, error) : VV_OK;
}

static int open_parts(struct vv_gguf *g, const struct vv_gguf_part *parts, uint32_t count,
                      const char *name, struct vv_error *error) {
    int code = VV_OK;
    for (g->shard_count = 0; g->shard_count < count && code == VV_OK;) {
        const struct vv_gguf_part *part = &parts[g->shard_count];
        struct vv_gguf_shard *s = &g->shards[g->shard_count++];
        code = vv_file_from_memory(part->bytes, part->size, name, &s->file, error);
        if (code == VV_OK) {
            code = vv_gguf_parse(s, error);
        }
    }
    return code == VV_OK ? vv_gguf_join(g, error) : code;
}

/* Gives `g` to the caller, or frees it. */
static int hand_over(struct vv_gguf *g, int code, struct vv_gguf **out) {
    if (code != VV_OK) {
        vv_gguf_close(g);
        g = NULL;
    }
    *out = g;
    return code;
}

int vv_gguf_open(const char *path, const struct vv_gguf_options *options, struct vv_gguf **out,
                 struct vv_error *error) {
    struct vv_gguf *g = create(1, error);
    *out = NULL;
    return g ? hand_over(g, open_path(g, path, !options || !options->read, error), out)
             : VV_ERROR_MEMORY;
}

int vv_gguf_open_memory(const void *bytes, size_t size, const char *name, struct vv_gguf **out,
                        struct vv_error *error) {
    const struct vv_gguf_part whole = {bytes, size};
    return vv_gguf_open_parts(&whole, 1, name, out, error);
}

int vv_gguf_open_parts(const struct vv_gguf_part *parts, uint32_t count, const char *name,
                       struct vv_gguf **out, struct vv_error *error) {
    struct vv_gguf *g = create(count, error);
    *out = NULL;
    return g ? hand_over(g, open_parts(g, parts, count, name, error), out) : VV_ERROR_MEMORY;
}

/* What was parsed is in memory of its own: the bytes are let go. */
static int open_header(struct vv_gguf *g, const void *bytes, size_t size, const char *name,
                       struct vv_error *error) {
    const struct vv_gguf_part whole = {bytes, size};
    g->described = true;
    int code = open_parts(g, &whole, 1, name, error);
    g->shards[0].file.bytes = NULL;
    return code;
}

int vv_gguf_open_description(const void *bytes, size_t size, const char *name, struct vv_gguf **out,
                             struct vv_error *error) {
    struct vv_gguf *g = create(1, error);
    *out = NULL;
    return g ? hand_over(g, open_header(g, bytes, size, name, error), out) : VV_ERROR_MEMORY;
}

void vv_gguf_close(struct vv_gguf *g) {
    if (g) {
        for (uint32_t k = 0; k < g->shard_count; k++) {
            vv_gguf_free_shard(&g->shards[k]);
        }
        free(g->shards);
        free(g->tensors);
        free(g->by_name);
        free(g->attached);
        free(g);
    }
}

uint32_t vv_gguf_version(const struct vv_gguf *g) {
    return g->shards[0].version;
}

uint32_t vv_gguf_alignment(const struct vv_gguf *g) {
    return g->shards[0].alignment;
}

uint32_t vv_gguf_shard_count(const struct vv_gguf *g) {
    return g->shard_count;
}

const char *vv_gguf_path(const struct vv_gguf *g, uint32_t shard) {
    return g->shards[shard].file.path;
}

uint64_t vv_gguf_file_bytes(const struct vv_gguf *g) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < g->shard_count; k++) {
        bytes += g->shards[k].file.size;
    }
    return bytes;
}

bool vv_gguf_mapped(const struct vv_gguf *g) {
    return g->shards[0].file.bytes != NULL;
}

bool vv_gguf_described(const struct vv_gguf *g) {
    return g->described;
}

int vv_gguf_check_unchanged(const struct vv_gguf *g, struct vv_error *error) {
    int code = VV_OK;
    for (uint32_t k = 0; k < g->shard_count && code == VV_OK; k++) {
        code = vv_file_check_unchanged(&g->shards[k].file, error);
    }
    return code;
}

size_t vv_gguf_tensor_count(const struct vv_gguf *g) {
    return g->tensor_count;
}

const struct vv_gguf_tensor *vv_gguf_tensor_at(const struct vv_gguf *g, size_t index) {
    return &g->tensors[index];
}

const void *vv_gguf_tensor_data(const struct vv_gguf *g, const struct vv_gguf_tensor *tensor) {
    const unsigned char *bytes = g->shards[tensor->shard].file.bytes;
    return bytes ? bytes + tensor->offset : NULL;
}

int vv_gguf_read_tensor(const struct vv_gguf *g, const struct vv_gguf_tensor *tensor,
                        uint64_t offset, size_t bytes, void *to, struct vv_error *error) {
    const struct vv_gguf_shard *s = &g->shards[tensor->shard];
    if (g->described) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: tensor '%.*s' has no data: this is the description of a model alone",
                       vv_gguf_label(s), VV_GGUF_NAME_SHOWN, tensor->name);
    }
    if (offset > tensor->bytes || bytes > tensor->bytes - offset) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: tensor '%.*s' has %llu bytes, %zu from %llu on were asked for",
                       vv_gguf_label(s), VV_GGUF_NAME_SHOWN, tensor->name,
                       (unsigned long long)tensor->bytes, bytes, (unsigned long long)offset);
    }
    size_t got;
    int code = vv_file_read(&s->file, tensor->offset + offset, bytes, to, &got, error);
    if (code == VV_OK && got < bytes) {
        code = vv_fail(error, VV_ERROR_IO,
                       "%s: reading tensor '%.*s' at offset %llu of the file gave %zu bytes of the "
                       "%zu wanted: the file has become shorter since it was opened",
                       vv_gguf_label(s), VV_GGUF_NAME_SHOWN, tensor->name,
                       (unsigned long long)(tensor->offset + offset), got, bytes);
    }
    return code;
}
