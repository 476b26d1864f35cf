#include "support/edited.h"
#include "base/half.h"
#include "quant/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf/writer.h"

static void must(int code, const struct vv_error *error) {
    if (code != VV_OK) {
        fail_msg("%s", error->message);
    }
}

/* ---- opening ---- */

static void take_tensor(struct edited *e, const struct vv_gguf_tensor *from) {
    struct edited_tensor *t = edited_add(e, from->name, from->type, from->dimensions, from->ne);
    assert_int_equal(t->size, from->bytes);
    memcpy(t->data, vv_gguf_tensor_data(e->file, from), t->size);
}

struct edited *edited_open(const char *name) {
    struct edited *e = calloc(1, sizeof *e);
    struct vv_error error;
    char path[500];
    assert_non_null(e);
    snprintf(path, sizeof path, "%s/tests/data/%s", VARVE_SOURCE_DIR, name);
    must(vv_gguf_open(path, NULL, &e->file, &error), &error);
    e->key_count = vv_gguf_entry_count(e->file);
    assert_true(e->key_count < EDITED_KEYS_MAX);
    for (size_t i = 0; i < e->key_count; i++) {
        e->keys[i] = *vv_gguf_entry_at(e->file, i);
    }
    for (size_t i = 0; i < vv_gguf_tensor_count(e->file); i++) {
        take_tensor(e, vv_gguf_tensor_at(e->file, i));
    }
    return e;
}

void edited_close(struct edited *e) {
    edited_drop_all(e);
    for (size_t i = 0; i < e->owned_count; i++) {
        free(e->owned[i]);
    }
    vv_gguf_close(e->file);
    free(e);
}

/* ---- keys ---- */

static void *own(struct edited *e, const void *bytes, size_t size) {
    assert_true(e->owned_count < EDITED_KEYS_MAX);
    void *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return e->owned[e->owned_count++] = copy;
}

static size_t key_index(const struct edited *e, const char *key) {
    size_t i = 0;
    while (i < e->key_count && (e->keys[i].key_length != strlen(key) ||
                                memcmp(e->keys[i].key, key, strlen(key)) != 0)) {
        i++;
    }
    return i;
}

static void set(struct edited *e, const char *key, struct vv_gguf_entry entry, const void *value) {
    size_t i = key_index(e, key);
    assert_true(i < EDITED_KEYS_MAX);
    e->key_count += i == e->key_count;
    entry.key = own(e, key, strlen(key));
    entry.key_length = strlen(key);
    entry.bytes = own(e, value, (size_t)entry.size);
    e->keys[i] = entry;
}

void edited_set(struct edited *e, const char *key, int type, const void *value, size_t size) {
    struct vv_gguf_entry entry = {.type = type, .element_type = type, .count = 1, .size = size};
    set(e, key, entry, value);
}

void edited_set_u32(struct edited *e, const char *key, uint32_t value) {
    edited_set(e, key, VV_GGUF_U32, &value, sizeof value);
}

void edited_set_array(struct edited *e, const char *key, int element_type, const void *values,
                      uint64_t count, size_t element_size) {
    struct vv_gguf_entry entry = {.type = VV_GGUF_ARRAY,
                                  .element_type = element_type,
                                  .count = count,
                                  .size = count * element_size};
    set(e, key, entry, values);
}

void edited_unset(struct edited *e, const char *key) {
    size_t i = key_index(e, key);
    if (i == e->key_count) {
        fail_msg("there is no key %s", key);
    }
    e->keys[i] = e->keys[--e->key_count];
}

/* ---- tensors ---- */

struct edited_tensor *edited_find(struct edited *e, const char *name) {
    for (size_t i = 0; i < e->tensor_count; i++) {
        if (strcmp(e->tensors[i]->name, name) == 0) {
            return e->tensors[i];
        }
    }
    return NULL;
}

struct edited_tensor *edited_tensor(struct edited *e, const char *name) {
    struct edited_tensor *t = edited_find(e, name);
    if (!t) {
        fail_msg("there is no tensor %s", name);
    }
    return t;
}

static size_t bytes_of(int type, uint64_t values) {
    uint64_t bytes = 0;
    assert_true(vv_type_bytes(type, values, &bytes));
    return (size_t)bytes;
}

size_t edited_count(const struct edited_tensor *t) {
    return (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

struct edited_tensor *edited_add(struct edited *e, const char *name, int type, uint32_t dimensions,
                                 const uint64_t *ne) {
    struct edited_tensor *t = calloc(1, sizeof *t);
    assert_true(t && e->tensor_count < EDITED_TENSORS_MAX);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->type = type;
    t->dimensions = dimensions;
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = i < dimensions ? ne[i] : 1;
    }
    t->size = bytes_of(type, edited_count(t));
    t->data = calloc(1, t->size);
    assert_non_null(t->data);
    e->tensors[e->tensor_count++] = t;
    return t;
}

static void free_tensor(struct edited_tensor *t) {
    free(t->data);
    free(t);
}

void edited_drop(struct edited *e, const char *name) {
    struct edited_tensor *t = edited_tensor(e, name);
    size_t i = 0;
    while (e->tensors[i] != t) {
        i++;
    }
    e->tensor_count--;
    memmove(e->tensors + i, e->tensors + i + 1, (e->tensor_count - i) * sizeof *e->tensors);
    free_tensor(t);
}

void edited_drop_all(struct edited *e) {
    while (e->tensor_count > 0) {
        free_tensor(e->tensors[--e->tensor_count]);
    }
}

float *edited_floats(const struct edited_tensor *t) {
    float *values = malloc(edited_count(t) * sizeof *values);
    assert_non_null(values);
    vv_format(t->type)->decode(t->data, values, edited_count(t));
    return values;
}

static void encode_q8_0(const float *x, unsigned char *block) {
    float amax = 0;
    for (size_t i = 0; i < 32; i++) {
        amax = fmaxf(amax, fabsf(x[i]));
    }
    uint16_t half = vv_to_f16(amax / 127);
    float d = vv_from_f16(half);
    memcpy(block, &half, sizeof half);
    for (size_t i = 0; i < 32; i++) {
        float q = d > 0 ? fminf(fmaxf(rintf(x[i] / d), -127), 127) : 0;
        block[2 + i] = (unsigned char)(int8_t)q;
    }
}

static void encode(int type, const float *x, size_t i, unsigned char *to) {
    uint16_t half;
    switch (type) {
    case VV_TYPE_F32:
        memcpy(to + i * sizeof *x, x + i, sizeof *x);
        return;
    case VV_TYPE_F16:
    case VV_TYPE_BF16:
        half = type == VV_TYPE_F16 ? vv_to_f16(x[i]) : vv_to_bf16(x[i]);
        memcpy(to + i * sizeof half, &half, sizeof half);
        return;
    case VV_TYPE_Q8_0:
        if (i % 32 == 0) {
            encode_q8_0(x + i, to + i / 32 * 34);
        }
        return;
    default:
        fail_msg("values can't be stored as %s here", vv_type_name(type));
    }
}

void edited_retype(struct edited_tensor *t, int type) {
    float *values = edited_floats(t);
    size_t count = edited_count(t);
    assert_int_equal(t->ne[0] % vv_type_info(type)->block_values, 0);
    free(t->data);
    t->type = type;
    t->size = bytes_of(type, count);
    t->data = malloc(t->size);
    assert_non_null(t->data);
    for (size_t i = 0; i < count; i++) {
        encode(type, values, i, t->data);
    }
    free(values);
}

/* ---- writing ---- */

static struct vv_gguf_writer *begin(const char *path) {
    struct vv_gguf_writer *w;
    struct vv_error error;
    must(vv_gguf_writer_open(path, &w, &error), &error);
    return w;
}

static void put_keys(struct vv_gguf_writer *w, const struct edited *e) {
    struct vv_error error;
    for (size_t i = 0; i < e->key_count; i++) {
        must(vv_gguf_writer_entry(w, &e->keys[i], &error), &error);
    }
}

/* Tensors [from, to). */
static void put_tensors(struct vv_gguf_writer *w, const struct edited *e, size_t from, size_t to) {
    struct vv_error error;
    for (size_t i = from; i < to; i++) {
        const struct edited_tensor *t = e->tensors[i];
        must(vv_gguf_writer_tensor(w, t->name, t->type, t->dimensions, t->ne, &error), &error);
    }
    for (size_t i = from; i < to; i++) {
        must(vv_gguf_writer_data(w, e->tensors[i]->data, e->tensors[i]->size, &error), &error);
    }
    must(vv_gguf_writer_finish(w, &error), &error);
}

void edited_write(struct edited *e, const char *path) {
    struct vv_gguf_writer *w = begin(path);
    put_keys(w, e);
    put_tensors(w, e, 0, e->tensor_count);
}

static void put_number(struct vv_gguf_writer *w, const char *key, int type, const void *value,
                       size_t size) {
    struct vv_error error;
    struct vv_gguf_entry entry = {.key = key,
                                  .key_length = strlen(key),
                                  .type = type,
                                  .element_type = type,
                                  .count = 1,
                                  .bytes = value,
                                  .size = size};
    must(vv_gguf_writer_entry(w, &entry, &error), &error);
}

const char *edited_write_split(struct edited *e, const char *folder, uint16_t count) {
    static char first[600];
    uint32_t all = (uint32_t)e->tensor_count;
    for (uint16_t k = count; k-- > 0;) { /* so that `first` is the first one's in the end */
        snprintf(first, sizeof first, "%s/model-%05d-of-%05d.gguf", folder, k + 1, count);
        struct vv_gguf_writer *w = begin(first);
        if (k == 0) {
            put_keys(w, e);
        }
        put_number(w, "split.no", VV_GGUF_U16, &k, sizeof k);
        put_number(w, "split.count", VV_GGUF_U16, &count, sizeof count);
        put_number(w, "split.tensors.count", VV_GGUF_U32, &all, sizeof all);
        put_tensors(w, e, e->tensor_count * k / count, e->tensor_count * (k + 1u) / count);
    }
    return first;
}

unsigned char *edited_record(unsigned char *bytes, size_t size, const char *name) {
    struct {
        uint64_t length;
        char name[64];
    } want = {.length = strlen(name)};
    memcpy(want.name, name, strlen(name));
    unsigned char *at = memmem(bytes, size, &want, sizeof want.length + strlen(name));
    if (!at) {
        fail_msg("the file has no tensor %s", name);
    }
    return at + sizeof want.length + strlen(name);
}
