/* For the conformance programs: a vocabulary of the fixtures, and texts out of JSON. */
#pragma once
#include "gguf/gguf.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static inline _Noreturn void fail_loudly(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* A whole file in memory. */
static inline struct vv_bytes read_file(const char *path) {
    struct vv_bytes bytes = {0};
    struct vv_error error;
    char part[65536];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail_loudly(path, "cannot be opened");
    }
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) {
        if (vv_bytes_append(&bytes, part, n, &error)) {
            fail_loudly(path, error.message);
        }
    }
    fclose(file);
    return bytes;
}

/* The bytes of the GGUF file of a vocabulary; the caller frees. */
static inline void *unpack_vocabulary(const char *fixtures, const char *model, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer/%s.vocab.gguf.zst", fixtures, model);
    struct vv_bytes packed = read_file(path);
    unsigned long long length = ZSTD_getFrameContentSize(packed.at, packed.length);
    void *bytes = length < 1u << 30 ? malloc((size_t)length) : NULL;
    if (!bytes || ZSTD_decompress(bytes, (size_t)length, packed.at, packed.length) != length) {
        fail_loudly(path, "cannot be unpacked");
    }
    vv_bytes_free(&packed);
    *size = (size_t)length;
    return bytes;
}

static inline struct vv_tokenizer *open_vocabulary(const char *fixtures, const char *model) {
    struct vv_gguf *gguf;
    struct vv_tokenizer *tokenizer;
    struct vv_error error;
    size_t size;
    void *bytes = unpack_vocabulary(fixtures, model, &size);
    if (vv_gguf_open_memory(bytes, size, model, &gguf, &error) ||
        vv_tokenizer_open(gguf, &tokenizer, &error)) {
        fail_loudly(model, error.message);
    }
    vv_gguf_close(gguf);
    free(bytes);
    return tokenizer;
}

/* Calls `check` for each line of a file of JSON objects. */
static inline void each_line(const char *path, void (*check)(const json_t *json, void *context),
                             void *context) {
    struct vv_bytes lines = read_file(path);
    for (size_t at = 0; at < lines.length;) {
        const char *end = memchr(lines.at + at, '\n', lines.length - at);
        size_t length = (end ? (size_t)(end - lines.at) : lines.length) - at;
        json_error_t trouble;
        json_t *json = json_loadb(lines.at + at, length, JSON_ALLOW_NUL, &trouble);
        if (!json) {
            fail_loudly(path, trouble.text);
        }
        check(json, context);
        json_decref(json);
        at += length + 1;
    }
    vv_bytes_free(&lines);
}

static inline struct vv_text text_of(const json_t *string) {
    return (struct vv_text){json_string_value(string), json_string_length(string)};
}

static inline bool same_text(struct vv_text a, struct vv_text b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

static inline bool same_ids(const struct vv_ids *ids, const json_t *expected) {
    bool same = ids->count == json_array_size(expected);
    for (size_t i = 0; same && i < ids->count; i++) {
        same = ids->at[i] == json_integer_value(json_array_get(expected, i));
    }
    return same;
}
