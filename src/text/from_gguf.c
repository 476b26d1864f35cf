/* A vocabulary out of a model file. */
#include "gguf/gguf.h"
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* The strings of an array, as views into the file's metadata; to be freed. */
static int read_strings(const struct vv_gguf *g, const char *key, struct vv_text **out,
                        size_t *count, struct vv_error *error) {
    const struct vv_gguf_entry *entry;
    int status = vv_gguf_get_array(g, key, &entry, error);
    if (status != VV_OK) {
        return status;
    }
    *count = (size_t)entry->count;
    *out = malloc(*count * sizeof **out + 1);
    if (!*out) {
        return vv_fail_memory(error, *count * sizeof **out, key);
    }
    for (size_t i = 0; i < *count && status == VV_OK; i++) {
        struct vv_string string;
        status = vv_gguf_entry_string(g, entry, i, &string, error);
        (*out)[i] = (struct vv_text){string.at, string.length};
    }
    return status;
}

/* An array beside the tokens, if it is there, must have an element for each. */
static int check_length(const struct vv_gguf *g, const char *key, size_t tokens,
                        struct vv_error *error) {
    const struct vv_gguf_entry *entry = vv_gguf_find(g, key);
    if (entry && (entry->type != VV_GGUF_ARRAY || entry->count != tokens)) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: %s has %llu elements and tokenizer.ggml.tokens %zu: there must be one "
                       "for each token",
                       vv_gguf_path(g, 0), key, (unsigned long long)entry->count, tokens);
    }
    return VV_OK;
}

static int read_types(const struct vv_gguf *g, size_t tokens, int32_t **types,
                      struct vv_error *error) {
    const char *key = "tokenizer.ggml.token_type";
    int status = check_length(g, key, tokens, error);
    if (status != VV_OK || !vv_gguf_has(g, key)) {
        return status;
    }
    *types = malloc(tokens * sizeof **types + 1);
    return *types ? vv_gguf_array_i32(g, key, tokens, *types, error)
                  : vv_fail_memory(error, tokens * sizeof **types, key);
}

/* -1 if the key is missing. */
static int read_id(const struct vv_gguf *g, const char *key, int32_t *id, struct vv_error *error) {
    uint32_t value = 0;
    *id = -1;
    int status = vv_gguf_has(g, key) ? vv_gguf_get_u32(g, key, &value, error) : VV_OK;
    if (status == VV_OK && value > INT32_MAX) {
        return vv_fail(error, VV_ERROR_INVALID, "%s: %s is %u, which is no token id",
                       vv_gguf_path(g, 0), key, (unsigned)value);
    }
    if (status == VV_OK && vv_gguf_has(g, key)) {
        *id = (int32_t)value;
    }
    return status;
}

static int check_model(const struct vv_gguf *g, struct vv_error *error) {
    struct vv_string model;
    int status = vv_gguf_get_string(g, "tokenizer.ggml.model", &model, error);
    if (status == VV_OK && !(model.length == 4 && memcmp(model.at, "gpt2", 4) == 0)) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s: tokenizer.ggml.model is \"%.*s\", which is not known here; known is: "
                       "gpt2",
                       vv_gguf_path(g, 0), model.length < 60 ? (int)model.length : 60, model.at);
    }
    return status;
}

static int read_bos(const struct vv_gguf *g, struct vv_vocabulary *v, struct vv_error *error) {
    int status = read_id(g, "tokenizer.ggml.bos_token_id", &v->bos, error);
    status = status == VV_OK ? read_id(g, "tokenizer.ggml.eos_token_id", &v->eos, error) : status;
    if (status == VV_OK && vv_gguf_has(g, "tokenizer.ggml.add_bos_token")) {
        status = vv_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &v->add_bos, error);
    }
    return status;
}

/* Arrays that a vocabulary points to while the tokenizer is made. */
struct arrays {
    struct vv_text *tokens, *merges;
    int32_t *types;
};

static int read_vocabulary(const struct vv_gguf *g, struct arrays *arrays, struct vv_vocabulary *v,
                           struct vv_error *error) {
    struct vv_string pre;
    int status = check_model(g, error);
    status = status == VV_OK ? vv_gguf_get_string(g, "tokenizer.ggml.pre", &pre, error) : status;
    if (status != VV_OK) {
        return status;
    }
    v->pre = (struct vv_text){pre.at, pre.length};
    status = read_strings(g, "tokenizer.ggml.tokens", &arrays->tokens, &v->token_count, error);
    if (status == VV_OK) {
        status = check_length(g, "tokenizer.ggml.scores", v->token_count, error);
    }
    if (status == VV_OK) {
        status = read_types(g, v->token_count, &arrays->types, error);
    }
    if (status == VV_OK) {
        status = read_strings(g, "tokenizer.ggml.merges", &arrays->merges, &v->merge_count, error);
    }
    v->tokens = arrays->tokens;
    v->types = arrays->types;
    v->merges = arrays->merges;
    return status == VV_OK ? read_bos(g, v, error) : status;
}

int vv_tokenizer_open(const struct vv_gguf *gguf, struct vv_tokenizer **out,
                      struct vv_error *error) {
    struct arrays arrays = {0};
    struct vv_vocabulary vocabulary = {0};
    *out = NULL;
    int status = read_vocabulary(gguf, &arrays, &vocabulary, error);
    if (status == VV_OK && (status = vv_tokenizer_new(&vocabulary, out, error)) != VV_OK) {
        struct vv_error reason = *error; /* which does not know the file */
        vv_fail(error, status, "%s: %s", vv_gguf_path(gguf, 0), reason.message);
    }
    free(arrays.tokens);
    free(arrays.types);
    free(arrays.merges);
    return status;
}
