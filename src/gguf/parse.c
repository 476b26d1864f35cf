#include "gguf/internal.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are copied as they stand");

/*
 * The header's length stands nowhere, so a beginning of the file is loaded and parsed; if it ends
 * too early, four times as much is, from the start. Whatever a count claims must lie within the
 * loaded bytes before anything is allocated for it.
 */
enum {
    FIRST_LOAD = 1 << 20,
    MORE = 1, /* returned by the functions below: load more, then begin again */
    LEAST_ENTRY_BYTES = 8 + 1 + 4 + 1,      /* length, key, type, value */
    LEAST_TENSOR_BYTES = 8 + 1 + 4 + 4 + 8, /* length, name, dimension count, type, offset */
};

struct cursor {
    struct vv_gguf_shard *shard;
    struct vv_error *error;
    uint64_t loaded; /* bytes of shard->header */
    uint64_t at;
    /* where we are, for messages: "key 5 of 30 ('general.name')" */
    const char *part;
    uint64_t index, count;
    const unsigned char *name;
    uint64_t name_length;
};

/* A refusal that names file and place; `what` continues "FILE: key 5 of 30 ('name') …". */
static int refuse(const struct cursor *c, const char *what, ...) VV_PRINTF(2, 3);
static int refuse(const struct cursor *c, const char *what, ...) {
    struct vv_error reason;
    va_list list;
    va_start(list, what);
    vv_fail_va(&reason, VV_ERROR_INVALID, what, list);
    va_end(list);
    if (!c->name) {
        return vv_fail(c->error, VV_ERROR_INVALID, "%s: %s %llu of %llu %.300s",
                       vv_gguf_label(c->shard), c->part, (unsigned long long)c->index + 1,
                       (unsigned long long)c->count, reason.message);
    }
    return vv_fail(c->error, VV_ERROR_INVALID, "%s: %s %llu of %llu ('%.*s') %.300s",
                   vv_gguf_label(c->shard), c->part, (unsigned long long)c->index + 1,
                   (unsigned long long)c->count, VV_GGUF_SHOW(c->name, c->name_length),
                   reason.message);
}

/* VV_OK if the next `bytes` bytes are loaded, MORE if they are only in the file. */
static int need(const struct cursor *c, uint64_t bytes) {
    uint64_t size = c->shard->file.size;
    if (bytes <= c->loaded - c->at) {
        return VV_OK;
    }
    if (bytes > size - c->at) {
        return refuse(c,
                      "goes beyond the end of the file (%llu bytes wanted at %llu, %llu are "
                      "there): the file is damaged or was cut short",
                      (unsigned long long)bytes, (unsigned long long)c->at,
                      (unsigned long long)(size - c->at));
    }
    if (bytes > VV_GGUF_HEADER_LIMIT - c->at) {
        return refuse(c, "makes the header longer than %d bytes, which is the most that is read",
                      VV_GGUF_HEADER_LIMIT);
    }
    return MORE;
}

static int take(struct cursor *c, void *to, size_t bytes) {
    int code = need(c, bytes);
    if (code == VV_OK) {
        memcpy(to, c->shard->header + c->at, bytes);
        c->at += bytes;
    }
    return code;
}

/* The length and bytes of a key or tensor name, at most VV_GGUF_NAME_LIMIT. */
static int take_name(struct cursor *c, unsigned char **name, size_t *length) {
    uint64_t n;
    int code = take(c, &n, sizeof n);
    if (code != VV_OK) {
        return code;
    }
    if (n == 0) {
        return refuse(c, "has an empty name");
    }
    if (n > VV_GGUF_NAME_LIMIT) {
        return refuse(c, "has a name of %llu bytes, more than the %d that GGUF allows",
                      (unsigned long long)n, VV_GGUF_NAME_LIMIT);
    }
    code = need(c, n);
    if (code == VV_OK) {
        *name = c->shard->header + c->at;
        *length = (size_t)n;
        c->name = *name;
        c->name_length = n;
        c->at += n;
    }
    return code;
}

int vv_gguf_value_bytes(uint32_t type) {
    static const int bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof bytes / sizeof *bytes ? bytes[type] : -1;
}

static int skip_strings(struct cursor *c, struct vv_gguf_entry *e) {
    uint64_t begin = c->at;
    int code = need(c, e->count * 8); /* their lengths: no overflow, see take_elements */
    if (code != VV_OK) {
        return code;
    }
    uint32_t *offsets = malloc(e->count ? (size_t)e->count * sizeof *offsets : 1);
    if (!offsets) {
        return vv_fail_memory(c->error, e->count * sizeof *offsets, "the offsets of strings");
    }
    e->strings = offsets;
    for (uint64_t i = 0; i < e->count; i++) {
        uint64_t length;
        offsets[i] = (uint32_t)(c->at - begin);
        if ((code = take(c, &length, sizeof length)) != VV_OK ||
            (code = need(c, length)) != VV_OK) {
            return code;
        }
        c->at += length;
    }
    return VV_OK;
}

static int skip_fixed(struct cursor *c, const struct vv_gguf_entry *e, uint64_t bytes) {
    int code = need(c, bytes);
    if (code != VV_OK) {
        return code;
    }
    for (uint64_t i = 0; e->element_type == VV_GGUF_BOOL && i < bytes; i++) {
        if (c->shard->header[c->at + i] > 1) {
            return refuse(c, "has a bool that is %u, which is neither 0 nor 1",
                          c->shard->header[c->at + i]);
        }
    }
    c->at += bytes;
    return VV_OK;
}

/* The elements of an entry whose types and count are known. */
static int take_elements(struct cursor *c, struct vv_gguf_entry *e) {
    bool strings = e->element_type == VV_GGUF_STRING;
    uint64_t least = strings ? 8 : (uint64_t)vv_gguf_value_bytes((uint32_t)e->element_type);
    uint64_t begin = c->at, rest = c->shard->file.size - c->at;
    if (e->count > rest / least) {
        return refuse(c,
                      "claims %llu elements, more than the %llu bytes that follow can hold: the "
                      "file is damaged or was cut short",
                      (unsigned long long)e->count, (unsigned long long)rest);
    }
    int code = strings ? skip_strings(c, e) : skip_fixed(c, e, e->count * least);
    e->bytes = c->shard->header + begin;
    e->size = c->at - begin;
    return code;
}

static int take_entry(struct cursor *c, struct vv_gguf_entry *e) {
    unsigned char *key;
    uint32_t type, element_type;
    int code = take_name(c, &key, &e->key_length);
    if (code != VV_OK || (code = take(c, &type, sizeof type)) != VV_OK) {
        return code;
    }
    e->key = (const char *)key;
    e->count = 1;
    element_type = type;
    if (type == VV_GGUF_ARRAY && ((code = take(c, &element_type, sizeof element_type)) != VV_OK ||
                                  (code = take(c, &e->count, sizeof e->count)) != VV_OK)) {
        return code;
    }
    if (vv_gguf_value_bytes(element_type) < 0) {
        return refuse(c, "has values of type %u, and GGUF's types are 0 to 12", element_type);
    }
    if (element_type == VV_GGUF_ARRAY) {
        return refuse(c, "is an array of arrays, which is not read");
    }
    e->type = (int)type;
    e->element_type = (int)element_type;
    return take_elements(c, e);
}

/* The shape of a tensor whose name was read. */
static int take_shape(struct cursor *c, struct vv_gguf_tensor *t) {
    int code = take(c, &t->dimensions, sizeof t->dimensions);
    if (code != VV_OK) {
        return code;
    }
    if (t->dimensions > 4) {
        return refuse(c, "has %u dimensions, and 4 is the most", t->dimensions);
    }
    t->elements = 1;
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = 1;
        if (i < t->dimensions && (code = take(c, &t->ne[i], sizeof t->ne[i])) != VV_OK) {
            return code;
        }
        if (t->ne[i] == 0) {
            return refuse(c, "has a dimension of 0");
        }
        if (t->ne[i] > INT64_MAX / t->elements) {
            return refuse(c, "has more elements than 64 bits can count");
        }
        t->elements *= t->ne[i];
    }
    return VV_OK;
}

/* Type and size of a tensor whose shape was read. A Q2_0 is taken for the 64-value kind here. */
static int take_type(struct cursor *c, struct vv_gguf_tensor *t) {
    uint32_t id;
    int code = take(c, &id, sizeof id);
    if (code != VV_OK) {
        return code;
    }
    const struct vv_type_info *info = id < VV_TYPE_Q2_0_128 ? vv_type_info((int)id) : NULL;
    if (!info) {
        return refuse(c, "has type %u, which is not known here: get a newer varve, or another file",
                      id);
    }
    t->type = info->type;
    if (t->ne[0] % info->block_values != 0) {
        return refuse(c, "has rows of %llu values, which are no whole blocks of %u as %s wants",
                      (unsigned long long)t->ne[0], info->block_values, info->name);
    }
    if (!vv_type_bytes(t->type, t->elements, &t->bytes)) {
        return refuse(c, "has more bytes than 64 bits can count");
    }
    return VV_OK;
}

static int take_tensor(struct cursor *c, struct vv_gguf_tensor *t) {
    unsigned char *name;
    size_t length;
    int code = take_name(c, &name, &length);
    if (code != VV_OK) {
        return code;
    }
    if (memchr(name, 0, length)) {
        return refuse(c, "has a name with a zero byte in it");
    }
    if ((code = take_shape(c, t)) != VV_OK || (code = take_type(c, t)) != VV_OK ||
        (code = take(c, &t->offset, sizeof t->offset)) != VV_OK) {
        return code;
    }
    /* The record's dimension count, behind the name, was read: its first byte ends the string. */
    name[length] = 0;
    t->name = (const char *)name;
    return VV_OK;
}

static void begin_part(struct cursor *c, const char *part, uint64_t index, uint64_t count) {
    c->part = part;
    c->index = index;
    c->count = count;
    c->name = NULL;
}

/* Room for `count` records, each of which takes `least` bytes of the file or more. */
static int allocate(struct cursor *c, const char *part, uint64_t count, uint64_t least,
                    size_t record, void **to) {
    uint64_t rest = c->shard->file.size - c->at;
    if (count > rest / least) {
        return vv_fail(c->error, VV_ERROR_INVALID,
                       "%s claims a %s count of %llu, more than its %llu bytes can hold: the file "
                       "is damaged or was cut short",
                       vv_gguf_label(c->shard), part, (unsigned long long)count,
                       (unsigned long long)c->shard->file.size);
    }
    begin_part(c, part, 0, count);
    int code = need(c, count * least);
    if (code == VV_OK && !(*to = calloc(count ? (size_t)count : 1, record))) {
        code = vv_fail_memory(c->error, count * record, "the header of a model file");
    }
    return code;
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length) {
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_keys(const void *a, const void *b) {
    const struct vv_gguf_entry *x = *(const struct vv_gguf_entry *const *)a;
    const struct vv_gguf_entry *y = *(const struct vv_gguf_entry *const *)b;
    return compare_bytes(x->key, x->key_length, y->key, y->key_length);
}

static int index_entries(struct cursor *c) {
    struct vv_gguf_shard *s = c->shard;
    s->by_key = malloc((s->entry_count ? s->entry_count : 1) * sizeof *s->by_key);
    if (!s->by_key) {
        return vv_fail_memory(c->error, s->entry_count * sizeof *s->by_key, "the keys of a model");
    }
    for (size_t i = 0; i < s->entry_count; i++) {
        s->by_key[i] = &s->entries[i];
    }
    qsort(s->by_key, s->entry_count, sizeof *s->by_key, compare_keys);
    for (size_t i = 1; i < s->entry_count; i++) {
        if (compare_keys(&s->by_key[i - 1], &s->by_key[i]) == 0) {
            return vv_fail(c->error, VV_ERROR_INVALID, "%s has the key '%.*s' twice",
                           vv_gguf_label(s),
                           VV_GGUF_SHOW(s->by_key[i]->key, s->by_key[i]->key_length));
        }
    }
    return VV_OK;
}

const struct vv_gguf_entry *vv_gguf_shard_find(const struct vv_gguf_shard *shard, const char *key) {
    struct vv_gguf_entry wanted = {.key = key, .key_length = strlen(key)};
    const struct vv_gguf_entry *at = &wanted, **found;
    found = bsearch(&at, shard->by_key, shard->entry_count, sizeof *shard->by_key, compare_keys);
    return found ? *found : NULL;
}

/* general.alignment, and from it where the data begin. */
static int find_data(struct cursor *c) {
    struct vv_gguf_shard *s = c->shard;
    uint64_t alignment = VV_GGUF_DEFAULT_ALIGNMENT;
    int code = vv_gguf_shard_integer(s, "general.alignment", UINT32_MAX, &alignment, c->error);
    if (code != VV_OK) {
        return code;
    }
    if (alignment < VV_GGUF_LEAST_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
        return vv_fail(c->error, VV_ERROR_INVALID,
                       "%s: key 'general.alignment' is %llu, a power of two from %d on is wanted",
                       vv_gguf_label(s), (unsigned long long)alignment, VV_GGUF_LEAST_ALIGNMENT);
    }
    s->alignment = (uint32_t)alignment;
    s->data_offset = (c->at + alignment - 1) & ~(alignment - 1);
    return VV_OK;
}

/* The header's counts, checked against the file's size before anything else. */
static int take_counts(struct cursor *c) {
    struct vv_gguf_shard *s = c->shard;
    uint64_t tensors, entries;
    int code = vv_gguf_check_magic(vv_gguf_label(s), s->header, (size_t)c->loaded, c->error);
    if (code != VV_OK) {
        return code;
    }
    memcpy(&s->version, s->header + 4, sizeof s->version);
    c->at = 8;
    begin_part(c, "count", 0, 2);
    if ((code = take(c, &tensors, sizeof tensors)) != VV_OK) {
        return code;
    }
    c->index = 1;
    if ((code = take(c, &entries, sizeof entries)) != VV_OK ||
        (code = allocate(c, "key", entries, LEAST_ENTRY_BYTES, sizeof *s->entries,
                         (void **)&s->entries)) != VV_OK) {
        return code;
    }
    s->entry_count = (size_t)entries;
    if ((code = allocate(c, "tensor", tensors, LEAST_TENSOR_BYTES, sizeof *s->tensors,
                         (void **)&s->tensors)) != VV_OK) {
        return code;
    }
    s->tensor_count = (size_t)tensors;
    return VV_OK;
}

static int parse_loaded(struct cursor *c) {
    struct vv_gguf_shard *s = c->shard;
    int code = take_counts(c);
    for (size_t i = 0; i < s->entry_count && code == VV_OK; i++) {
        begin_part(c, "key", i, s->entry_count);
        code = take_entry(c, &s->entries[i]);
    }
    for (size_t i = 0; i < s->tensor_count && code == VV_OK; i++) {
        begin_part(c, "tensor", i, s->tensor_count);
        code = take_tensor(c, &s->tensors[i]);
    }
    if (code == VV_OK) {
        code = index_entries(c);
    }
    return code == VV_OK ? find_data(c) : code;
}

static void free_header(struct vv_gguf_shard *s) {
    for (size_t i = 0; i < s->entry_count; i++) {
        free((void *)s->entries[i].strings);
    }
    free(s->entries);
    free(s->by_key);
    free(s->tensors);
    free(s->room);
    free(s->header);
    *s = (struct vv_gguf_shard){.file = s->file};
}

void vv_gguf_free_shard(struct vv_gguf_shard *shard) {
    free_header(shard);
    vv_file_close(&shard->file);
}

static int load(struct cursor *c, uint64_t bytes) {
    size_t got;
    c->loaded = bytes;
    c->shard->header = malloc(bytes ? (size_t)bytes : 1);
    if (!c->shard->header) {
        return vv_fail_memory(c->error, bytes, "the header of a model file");
    }
    int code = vv_file_read(&c->shard->file, 0, (size_t)bytes, c->shard->header, &got, c->error);
    if (code == VV_OK && got < bytes) {
        code = vv_fail(c->error, VV_ERROR_IO, "%s became shorter while it was read: try again",
                       vv_gguf_label(c->shard));
    }
    return code;
}

int vv_gguf_parse(struct vv_gguf_shard *shard, struct vv_error *error) {
    uint64_t size = shard->file.size;
    uint64_t most = size < VV_GGUF_HEADER_LIMIT ? size : VV_GGUF_HEADER_LIMIT;
    for (uint64_t bytes = FIRST_LOAD;; bytes *= 4) {
        struct cursor c = {.shard = shard, .error = error};
        int code = load(&c, bytes < most ? bytes : most);
        if (code == VV_OK) {
            code = parse_loaded(&c);
        }
        if (code != MORE) {
            return code;
        }
        free_header(shard);
    }
}
