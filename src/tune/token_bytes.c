/* Which bytes of a file one decoded token reads, by the names that GGUF files give to weights. */
#include "tune/bench_model.h"

#include <stdio.h>
#include <string.h>

static bool ends(const char *name, const char *end) {
    size_t length = strlen(name), n = strlen(end);
    return length >= n && strcmp(name + length - n, end) == 0;
}

/* Rows are picked out of these, a few for a token. */
static bool is_table(const struct vv_gguf *file, const char *name) {
    return strcmp(name, "per_layer_token_embd.weight") == 0 ||
           (strcmp(name, "token_embd.weight") == 0 &&
            vv_gguf_find_tensor(file, "output.weight") != NULL);
}

/* Draft blocks stand behind the trunk's layers. */
static bool is_draft(const char *name, const struct vv_model_facts *facts) {
    unsigned layer;
    return sscanf(name, "blk.%u.", &layer) == 1 && layer >= facts->layers;
}

uint64_t vv_bench_token_bytes(const struct vv_gguf *file, const struct vv_family *family,
                              const struct vv_model_facts *facts) {
    char key[100];
    uint32_t used, experts;
    struct vv_error ignored;
    uint64_t bytes = 0;
    snprintf(key, sizeof key, "%s.expert_used_count", family->architecture);
    int code = vv_gguf_get_u32(file, key, &used, &ignored);
    snprintf(key, sizeof key, "%s.expert_count", family->architecture);
    if (code != VV_OK || vv_gguf_get_u32(file, key, &experts, &ignored) != VV_OK || experts == 0) {
        return 0;
    }
    for (size_t i = 0; i < vv_gguf_tensor_count(file); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file, i);
        if (is_table(file, t->name) || is_draft(t->name, facts)) {
            continue;
        }
        bytes += ends(t->name, "_exps.weight") ? t->bytes / experts * used : t->bytes;
    }
    return bytes;
}
