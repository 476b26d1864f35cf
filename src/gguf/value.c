#include "gguf/internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Integers up to this magnitude are exact in float. */
enum { EXACT_IN_FLOAT = 1 << 24 };

const char *vv_gguf_type_name(int type) {
    static const char *const names[] = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                        "int32",  "float32", "bool",   "string", "array",
                                        "uint64", "int64",   "float64"};
    return type >= 0 && type < (int)(sizeof names / sizeof *names) ? names[type] : "unknown";
}

size_t vv_gguf_entry_count(const struct vv_gguf *g) {
    return g->shards[0].entry_count;
}

const struct vv_gguf_entry *vv_gguf_entry_at(const struct vv_gguf *g, size_t index) {
    return &g->shards[0].entries[index];
}

const struct vv_gguf_entry *vv_gguf_find(const struct vv_gguf *g, const char *key) {
    for (size_t i = 0; i < g->attached_count; i++) {
        const struct vv_gguf_entry *e = g->attached[i];
        if (e->key_length == strlen(key) && memcmp(e->key, key, e->key_length) == 0) {
            return e;
        }
    }
    return vv_gguf_shard_find(&g->shards[0], key);
}

bool vv_gguf_has(const struct vv_gguf *g, const char *key) {
    return vv_gguf_find(g, key) != NULL;
}

/* An integer of any type as the 64 bits of its two's complement. */
struct integer {
    uint64_t bits;
    bool negative;
};

/* Element `index` < count; false if the elements are no integers. */
static bool integer_at(const struct vv_gguf_entry *e, uint64_t index, struct integer *out) {
    bool is_signed = e->element_type == VV_GGUF_I8 || e->element_type == VV_GGUF_I16 ||
                     e->element_type == VV_GGUF_I32 || e->element_type == VV_GGUF_I64;
    bool is_unsigned = e->element_type == VV_GGUF_U8 || e->element_type == VV_GGUF_U16 ||
                       e->element_type == VV_GGUF_U32 || e->element_type == VV_GGUF_U64;
    if (!is_signed && !is_unsigned) {
        return false;
    }
    size_t bytes = (size_t)vv_gguf_value_bytes((uint32_t)e->element_type);
    size_t unused = 64 - 8 * bytes;
    uint64_t bits = 0;
    memcpy(&bits, e->bytes + index * bytes, bytes);
    if (is_signed) {
        bits = (uint64_t)((int64_t)(bits << unused) >> unused);
    }
    *out = (struct integer){bits, is_signed && bits >> 63};
    return true;
}

/* Element `index` < count; false if the elements are no floats. */
static bool float_at(const struct vv_gguf_entry *e, uint64_t index, double *out) {
    if (e->element_type == VV_GGUF_F32) {
        float value;
        memcpy(&value, e->bytes + index * sizeof value, sizeof value);
        *out = (double)value;
        return true;
    }
    if (e->element_type == VV_GGUF_F64) {
        memcpy(out, e->bytes + index * sizeof *out, sizeof *out);
        return true;
    }
    return false;
}

static struct vv_string string_at(const struct vv_gguf_entry *e, uint64_t index) {
    uint64_t length;
    const unsigned char *at = e->bytes + e->strings[index];
    memcpy(&length, at, sizeof length);
    return (struct vv_string){(const char *)at + sizeof length, (size_t)length};
}

/* What element `index` < count is, for messages: "-5 (int32)", "'text' (string)". */
static void describe(const struct vv_gguf_entry *e, uint64_t index, char *to, size_t size) {
    const char *type = vv_gguf_type_name(e->element_type);
    struct integer i;
    double f;
    if (integer_at(e, index, &i)) {
        snprintf(to, size, "%s%llu (%s)", i.negative ? "-" : "",
                 (unsigned long long)(i.negative ? 0 - i.bits : i.bits), type);
    } else if (float_at(e, index, &f)) {
        snprintf(to, size, "%.9g (%s)", f, type);
    } else if (e->element_type == VV_GGUF_BOOL) {
        snprintf(to, size, "%s (%s)", e->bytes[index] ? "true" : "false", type);
    } else {
        struct vv_string s = string_at(e, index);
        snprintf(to, size, "'%.*s' (%s)", VV_GGUF_SHOW(s.at, s.length), type);
    }
}

/* "FILE: key 'x' [element 3] is FOUND, and WANTED is wanted". */
static int refuse(const struct vv_gguf_shard *s, const struct vv_gguf_entry *e, uint64_t index,
                  const char *wanted, struct vv_error *error) {
    char found[VV_GGUF_NAME_SHOWN + 40], element[40] = "";
    if (index >= e->count) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: key '%.*s' has %llu elements, and %s is wanted as number %llu",
                       vv_gguf_label(s), VV_GGUF_SHOW(e->key, e->key_length),
                       (unsigned long long)e->count, wanted, (unsigned long long)index + 1);
    }
    if (e->type == VV_GGUF_ARRAY) {
        snprintf(element, sizeof element, " element %llu", (unsigned long long)index);
    }
    describe(e, index, found, sizeof found);
    return vv_fail(error, VV_ERROR_INVALID, "%s: key '%.*s'%s is %s, and %s is wanted",
                   vv_gguf_label(s), VV_GGUF_SHOW(e->key, e->key_length), element, found, wanted);
}

static int read_integer(const struct vv_gguf_shard *s, const struct vv_gguf_entry *e,
                        uint64_t index, int64_t min, uint64_t max, uint64_t *bits,
                        struct vv_error *error) {
    struct integer i;
    if (index < e->count && integer_at(e, index, &i) &&
        (i.negative ? (int64_t)i.bits >= min : i.bits <= max)) {
        *bits = i.bits;
        return VV_OK;
    }
    char wanted[80];
    snprintf(wanted, sizeof wanted, "an integer from %lld to %llu", (long long)min,
             (unsigned long long)max);
    return refuse(s, e, index, wanted, error);
}

static int read_f32(const struct vv_gguf_shard *s, const struct vv_gguf_entry *e, uint64_t index,
                    float *out, struct vv_error *error) {
    struct integer i;
    double f = INFINITY;
    if (index < e->count && !float_at(e, index, &f) && integer_at(e, index, &i)) {
        int64_t value = i.negative || i.bits <= INT64_MAX ? (int64_t)i.bits : INT64_MAX;
        f = value >= -EXACT_IN_FLOAT && value <= EXACT_IN_FLOAT ? (double)value : INFINITY;
    }
    if (!(fabs(f) <= (double)FLT_MAX)) {
        return refuse(s, e, index, "a finite number that float32 can hold", error);
    }
    *out = (float)f;
    return VV_OK;
}

static int read_bool(const struct vv_gguf_shard *s, const struct vv_gguf_entry *e, uint64_t index,
                     bool *out, struct vv_error *error) {
    if (index >= e->count || e->element_type != VV_GGUF_BOOL) {
        return refuse(s, e, index, "a bool", error);
    }
    *out = e->bytes[index] != 0;
    return VV_OK;
}

static int read_string(const struct vv_gguf_shard *s, const struct vv_gguf_entry *e, uint64_t index,
                       struct vv_string *out, struct vv_error *error) {
    if (index >= e->count || e->element_type != VV_GGUF_STRING) {
        return refuse(s, e, index, "a string", error);
    }
    *out = string_at(e, index);
    return VV_OK;
}

int vv_gguf_entry_u64(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      uint64_t *out, struct vv_error *error) {
    return read_integer(&g->shards[0], entry, index, 0, UINT64_MAX, out, error);
}

int vv_gguf_entry_i64(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      int64_t *out, struct vv_error *error) {
    uint64_t bits = 0;
    int code = read_integer(&g->shards[0], entry, index, INT64_MIN, INT64_MAX, &bits, error);
    *out = (int64_t)bits;
    return code;
}

int vv_gguf_entry_f32(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                      float *out, struct vv_error *error) {
    return read_f32(&g->shards[0], entry, index, out, error);
}

int vv_gguf_entry_bool(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                       bool *out, struct vv_error *error) {
    return read_bool(&g->shards[0], entry, index, out, error);
}

int vv_gguf_entry_string(const struct vv_gguf *g, const struct vv_gguf_entry *entry, uint64_t index,
                         struct vv_string *out, struct vv_error *error) {
    return read_string(&g->shards[0], entry, index, out, error);
}

/* The entry that was found of a key, which must be there, as an array or as one value; NULL with an
 * error. */
static const struct vv_gguf_entry *check_entry(const struct vv_gguf_shard *s,
                                               const struct vv_gguf_entry *e, const char *key,
                                               bool array, struct vv_error *error) {
    if (e && (e->type == VV_GGUF_ARRAY) == array) {
        return e;
    }
    if (!e) {
        vv_fail(error, VV_ERROR_INVALID, "%s has no key '%s'", vv_gguf_label(s), key);
    } else if (array) {
        refuse(s, e, 0, "an array", error);
    } else {
        vv_fail(error, VV_ERROR_INVALID,
                "%s: key '%s' is an array of %llu elements (%s), and one value is wanted",
                vv_gguf_label(s), key, (unsigned long long)e->count,
                vv_gguf_type_name(e->element_type));
    }
    return NULL;
}

int vv_gguf_shard_integer(const struct vv_gguf_shard *shard, const char *key, uint64_t max,
                          uint64_t *out, struct vv_error *error) {
    const struct vv_gguf_entry *e = vv_gguf_shard_find(shard, key);
    if (!e) {
        return VV_OK;
    }
    e = check_entry(shard, e, key, false, error);
    return e ? read_integer(shard, e, 0, 0, max, out, error) : error->code;
}

static int get_integer(const struct vv_gguf *g, const char *key, int64_t min, uint64_t max,
                       uint64_t *bits, struct vv_error *error) {
    const struct vv_gguf_entry *e =
        check_entry(&g->shards[0], vv_gguf_find(g, key), key, false, error);
    return e ? read_integer(&g->shards[0], e, 0, min, max, bits, error) : error->code;
}

int vv_gguf_get_u32(const struct vv_gguf *g, const char *key, uint32_t *out,
                    struct vv_error *error) {
    uint64_t bits = 0;
    int code = get_integer(g, key, 0, UINT32_MAX, &bits, error);
    *out = (uint32_t)bits;
    return code;
}

int vv_gguf_get_u64(const struct vv_gguf *g, const char *key, uint64_t *out,
                    struct vv_error *error) {
    return get_integer(g, key, 0, UINT64_MAX, out, error);
}

int vv_gguf_get_i64(const struct vv_gguf *g, const char *key, int64_t *out,
                    struct vv_error *error) {
    uint64_t bits = 0;
    int code = get_integer(g, key, INT64_MIN, INT64_MAX, &bits, error);
    *out = (int64_t)bits;
    return code;
}

int vv_gguf_get_f32(const struct vv_gguf *g, const char *key, float *out, struct vv_error *error) {
    const struct vv_gguf_entry *e =
        check_entry(&g->shards[0], vv_gguf_find(g, key), key, false, error);
    return e ? read_f32(&g->shards[0], e, 0, out, error) : error->code;
}

int vv_gguf_get_bool(const struct vv_gguf *g, const char *key, bool *out, struct vv_error *error) {
    const struct vv_gguf_entry *e =
        check_entry(&g->shards[0], vv_gguf_find(g, key), key, false, error);
    return e ? read_bool(&g->shards[0], e, 0, out, error) : error->code;
}

int vv_gguf_get_string(const struct vv_gguf *g, const char *key, struct vv_string *out,
                       struct vv_error *error) {
    const struct vv_gguf_entry *e =
        check_entry(&g->shards[0], vv_gguf_find(g, key), key, false, error);
    return e ? read_string(&g->shards[0], e, 0, out, error) : error->code;
}

int vv_gguf_get_array(const struct vv_gguf *g, const char *key, const struct vv_gguf_entry **out,
                      struct vv_error *error) {
    *out = check_entry(&g->shards[0], vv_gguf_find(g, key), key, true, error);
    return *out ? VV_OK : error->code;
}

/* An array that must have `count` elements; NULL with an error. */
static const struct vv_gguf_entry *find_array(const struct vv_gguf *g, const char *key,
                                              uint64_t count, struct vv_error *error) {
    const struct vv_gguf_entry *e =
        check_entry(&g->shards[0], vv_gguf_find(g, key), key, true, error);
    if (e && e->count != count) {
        vv_fail(error, VV_ERROR_INVALID, "%s: key '%s' has %llu elements, and %llu are wanted",
                vv_gguf_label(&g->shards[0]), key, (unsigned long long)e->count,
                (unsigned long long)count);
        return NULL;
    }
    return e;
}

int vv_gguf_array_u32(const struct vv_gguf *g, const char *key, uint64_t count, uint32_t *to,
                      struct vv_error *error) {
    const struct vv_gguf_entry *e = find_array(g, key, count, error);
    int code = e ? VV_OK : error->code;
    uint64_t bits = 0;
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = read_integer(&g->shards[0], e, i, 0, UINT32_MAX, &bits, error);
        to[i] = (uint32_t)bits;
    }
    return code;
}

int vv_gguf_array_i32(const struct vv_gguf *g, const char *key, uint64_t count, int32_t *to,
                      struct vv_error *error) {
    const struct vv_gguf_entry *e = find_array(g, key, count, error);
    int code = e ? VV_OK : error->code;
    uint64_t bits = 0;
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = read_integer(&g->shards[0], e, i, INT32_MIN, INT32_MAX, &bits, error);
        to[i] = (int32_t)bits;
    }
    return code;
}

int vv_gguf_array_u64(const struct vv_gguf *g, const char *key, uint64_t count, uint64_t *to,
                      struct vv_error *error) {
    const struct vv_gguf_entry *e = find_array(g, key, count, error);
    int code = e ? VV_OK : error->code;
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = vv_gguf_entry_u64(g, e, i, &to[i], error);
    }
    return code;
}

int vv_gguf_array_f32(const struct vv_gguf *g, const char *key, uint64_t count, float *to,
                      struct vv_error *error) {
    const struct vv_gguf_entry *e = find_array(g, key, count, error);
    int code = e ? VV_OK : error->code;
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = vv_gguf_entry_f32(g, e, i, &to[i], error);
    }
    return code;
}

int vv_gguf_array_bool(const struct vv_gguf *g, const char *key, uint64_t count, bool *to,
                       struct vv_error *error) {
    const struct vv_gguf_entry *e = find_array(g, key, count, error);
    int code = e ? VV_OK : error->code;
    for (uint64_t i = 0; i < count && code == VV_OK; i++) {
        code = vv_gguf_entry_bool(g, e, i, &to[i], error);
    }
    return code;
}
