/*
 * Opens the input as a GGUF file and reads all that it offers. An input that holds the mark below
 * is taken for the files of a split set, one behind another.
 */
#include "gguf/internal.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "\n--next file--\n";

enum { MARK = sizeof mark - 1, MOST_PARTS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every reading of an element: most are refused, none may fail in another way. */
static void read_element(const struct vv_gguf *g, const struct vv_gguf_entry *e, uint64_t index) {
    struct vv_error error;
    struct vv_string s;
    uint64_t u64;
    int64_t i64;
    float f32;
    bool flag;
    vv_gguf_entry_u64(g, e, index, &u64, &error);
    vv_gguf_entry_i64(g, e, index, &i64, &error);
    vv_gguf_entry_f32(g, e, index, &f32, &error);
    vv_gguf_entry_bool(g, e, index, &flag, &error);
    if (vv_gguf_entry_string(g, e, index, &s, &error) == VV_OK && s.length > 0) {
        volatile char touched = s.at[0];
        touched = s.at[s.length - 1];
        (void)touched;
    }
}

static void walk_entries(const struct vv_gguf *g) {
    for (size_t i = 0; i < vv_gguf_entry_count(g); i++) {
        const struct vv_gguf_entry *e = vv_gguf_entry_at(g, i);
        for (uint64_t k = 0; k <= e->count; k++) { /* the last is one too many */
            read_element(g, e, k);
        }
    }
    uint32_t value;
    struct vv_error error;
    vv_gguf_get_u32(g, "general.alignment", &value, &error);
}

static void check(bool good) {
    if (!good) {
        abort();
    }
}

static void walk_tensors(const struct vv_gguf *g) {
    for (size_t i = 0; i < vv_gguf_tensor_count(g); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(g, i);
        const unsigned char *bytes = vv_gguf_tensor_data(g, t);
        unsigned char first, last;
        struct vv_error error;
        check(vv_gguf_find_tensor(g, t->name) == t && t->bytes > 0);
        check(vv_gguf_read_tensor(g, t, 0, 1, &first, &error) == VV_OK && first == bytes[0]);
        check(vv_gguf_read_tensor(g, t, t->bytes - 1, 1, &last, &error) == VV_OK &&
              last == bytes[t->bytes - 1]);
        check(vv_gguf_read_tensor(g, t, t->bytes, 1, &last, &error) == VV_ERROR_INVALID);
    }
}

/* Cuts the input at its marks, each part into memory of its own. */
static uint32_t cut(const uint8_t *data, size_t size, struct vv_gguf_part *parts) {
    uint32_t count = 0;
    const uint8_t *end = data + size;
    for (bool last = false; !last && count < MOST_PARTS; count++) {
        const uint8_t *next = memmem(data, (size_t)(end - data), mark, MARK);
        last = !next;
        size_t length = (size_t)((next ? next : end) - data);
        void *copy = malloc(length);
        if (length > 0) {
            memcpy(copy, data, length);
        }
        parts[count] = (struct vv_gguf_part){copy, length};
        data += length + (next ? MARK : 0);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct vv_gguf_part parts[MOST_PARTS];
    struct vv_error error = {0};
    struct vv_gguf *g;
    uint32_t count = cut(data, size, parts);
    int code = vv_gguf_open_parts(parts, count, "input.gguf", &g, &error);
    check(code == VV_OK ? g != NULL : g == NULL && code == error.code && error.message[0] != 0);
    if (g) {
        walk_entries(g);
        walk_tensors(g);
        vv_gguf_close(g);
    }
    for (uint32_t i = 0; i < count; i++) {
        free((void *)parts[i].bytes);
    }
    return 0;
}
