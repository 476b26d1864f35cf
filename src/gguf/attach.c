/* A part of a model that lies in a file of its own. */
#include "gguf/internal.h"

#include <stdlib.h>
#include <string.h>

/* What `g` is to be: room for both, filled up to where `other` begins. */
static int make_room(const struct vv_gguf *g, const struct vv_gguf *other, size_t key_count,
                     struct vv_gguf *both, struct vv_error *error) {
    size_t tensors = g->tensor_count + other->tensor_count;
    size_t shards = (size_t)g->shard_count + other->shard_count;
    *both = (struct vv_gguf){
        .shards = calloc(shards, sizeof *both->shards),
        .tensors = calloc(tensors + 1, sizeof *both->tensors),
        .by_name = calloc(tensors + 1, sizeof *both->by_name),
        .attached = calloc(g->attached_count + key_count + 1, sizeof *both->attached),
    };
    if (!both->shards || !both->tensors || !both->by_name || !both->attached) {
        return vv_fail_memory(error, tensors * sizeof *both->tensors, "the tensors of a model");
    }
    memcpy(both->shards, g->shards, g->shard_count * sizeof *g->shards);
    memcpy(both->tensors, g->tensors, g->tensor_count * sizeof *g->tensors);
    if (g->attached_count > 0) {
        memcpy(both->attached, g->attached, g->attached_count * sizeof *g->attached);
    }
    both->shard_count = g->shard_count;
    both->tensor_count = g->tensor_count;
    both->attached_count = g->attached_count;
    return VV_OK;
}

static void append(struct vv_gguf *both, const struct vv_gguf *other, const char *prefix) {
    for (size_t i = 0; i < other->tensor_count; i++) {
        if (strncmp(other->tensors[i].name, prefix, strlen(prefix)) == 0) {
            struct vv_gguf_tensor *t = &both->tensors[both->tensor_count++];
            *t = other->tensors[i];
            t->shard += both->shard_count;
        }
    }
    memcpy(both->shards + both->shard_count, other->shards,
           other->shard_count * sizeof *other->shards);
    both->shard_count += other->shard_count;
}

static void free_lists(struct vv_gguf *g) {
    free(g->shards);
    free(g->tensors);
    free(g->by_name);
    free(g->attached);
}

int vv_gguf_attach(struct vv_gguf *g, struct vv_gguf *other, const char *prefix,
                   const struct vv_gguf_entry *const *keys, size_t key_count,
                   struct vv_error *error) {
    struct vv_gguf both;
    int code = make_room(g, other, key_count, &both, error);
    if (code == VV_OK) {
        append(&both, other, prefix);
        for (size_t i = 0; i < key_count; i++) {
            both.attached[both.attached_count++] = keys[i];
        }
        code = vv_gguf_index(&both, error);
    }
    if (code != VV_OK) {
        free_lists(&both);
        return code;
    }
    free_lists(g);
    free_lists(other);
    free(other);
    *g = both;
    return VV_OK;
}
