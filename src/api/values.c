/* The values of tensors: decoded, as integers, verified. */
#include "api/internal.h"
#include "gguf/types.h"
#include "quant/format.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 };

/* One integer or double of a tensor that holds such; false for other types. */
static bool element_at(int type, const unsigned char *bytes, size_t i, int64_t *integer,
                       double *real) {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    switch (type) {
    case VV_TYPE_I8:
        memcpy(&i8, bytes + i * sizeof i8, sizeof i8);
        *integer = i8;
        break;
    case VV_TYPE_I16:
        memcpy(&i16, bytes + i * sizeof i16, sizeof i16);
        *integer = i16;
        break;
    case VV_TYPE_I32:
        memcpy(&i32, bytes + i * sizeof i32, sizeof i32);
        *integer = i32;
        break;
    case VV_TYPE_I64:
        memcpy(integer, bytes + i * sizeof *integer, sizeof *integer);
        break;
    case VV_TYPE_F64:
        memcpy(real, bytes + i * sizeof *real, sizeof *real);
        return true;
    default:
        return false;
    }
    *real = (double)*integer;
    return true;
}

/* The stored bytes of elements [first, first + count): where they lie in the mapping, or in a copy
 * (`*copy`, to be freed). NULL with an error. */
static const unsigned char *stored(const struct varve_file *file, const struct vv_gguf_tensor *t,
                                   uint64_t first, uint64_t count, void **copy,
                                   struct vv_error *e) {
    const unsigned char *mapped = vv_gguf_tensor_data(file->gguf, t);
    uint64_t offset, bytes;
    *copy = NULL;
    if (first > t->elements || count > t->elements - first ||
        !vv_type_bytes(t->type, first, &offset) || !vv_type_bytes(t->type, count, &bytes)) {
        vv_fail(e, VV_ERROR_INVALID,
                "elements %llu to %llu of %s can't be read: they have to be whole blocks within "
                "its %llu elements",
                (unsigned long long)first, (unsigned long long)(first + count), t->name,
                (unsigned long long)t->elements);
        return NULL;
    }
    if (mapped) {
        return mapped + offset;
    }
    *copy = malloc((size_t)bytes + 1);
    if (!*copy) {
        vv_fail_memory(e, bytes, t->name);
        return NULL;
    }
    return vv_gguf_read_tensor(file->gguf, t, offset, (size_t)bytes, *copy, e) == VV_OK ? *copy
                                                                                        : NULL;
}

static int decode(const struct varve_file *file, const struct vv_gguf_tensor *t, uint64_t first,
                  uint64_t count, float *out, struct vv_error *e) {
    const struct vv_format *format = vv_format(t->type);
    int64_t integer;
    double real;
    void *copy;
    const unsigned char *bytes = stored(file, t, first, count, &copy, e);
    int code = bytes ? VV_OK : e->code;
    if (code == VV_OK && format) {
        format->decode(bytes, out, (size_t)count);
    } else if (code == VV_OK) {
        for (size_t i = 0; i < count && element_at(t->type, bytes, i, &integer, &real); i++) {
            out[i] = (float)real;
        }
    }
    free(copy);
    return code;
}

int varve_file_decode(const struct varve_file *file, size_t tensor, uint64_t first, uint64_t count,
                      float *out, struct varve_error *error) {
    return decode(file, vv_gguf_tensor_at(file->gguf, tensor), first, count, out,
                  vv_internal(error));
}

static int integers(const struct varve_file *file, const struct vv_gguf_tensor *t, uint64_t first,
                    uint64_t count, int64_t *out, struct vv_error *e) {
    double real;
    void *copy;
    if (t->type != VV_TYPE_I8 && t->type != VV_TYPE_I16 && t->type != VV_TYPE_I32 &&
        t->type != VV_TYPE_I64) {
        return vv_fail(e, VV_ERROR_INVALID, "tensor %s is %s: a tensor of integers is wanted",
                       t->name, vv_type_name(t->type));
    }
    const unsigned char *bytes = stored(file, t, first, count, &copy, e);
    int code = bytes ? VV_OK : e->code;
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        element_at(t->type, bytes, i, &out[i], &real);
    }
    free(copy);
    return code;
}

int varve_file_integers(const struct varve_file *file, size_t tensor, uint64_t first,
                        uint64_t count, int64_t *out, struct varve_error *error) {
    return integers(file, vv_gguf_tensor_at(file->gguf, tensor), first, count, out,
                    vv_internal(error));
}

/* ---- verifying ---- */

struct verify {
    const struct varve_file *file;
    varve_progress progress;
    void *context;
    uint64_t done, total; /* bytes */
};

/* The first bad element of doubles, or `count`; integers are never bad. */
static size_t first_bad_double(int type, const unsigned char *bytes, size_t count) {
    int64_t integer;
    double real;
    for (size_t i = 0; type == VV_TYPE_F64 && i < count; i++) {
        element_at(type, bytes, i, &integer, &real);
        if (!(real - real == 0)) {
            return i;
        }
    }
    return count;
}

static int verify_piece(struct verify *v, const struct vv_gguf_tensor *t, uint64_t first,
                        uint64_t count, uint32_t block_values, struct vv_error *e) {
    const struct vv_format *format = vv_format(t->type);
    size_t blocks = (size_t)(count / block_values), bad;
    void *copy;
    const unsigned char *bytes = stored(v->file, t, first, count, &copy, e);
    if (!bytes) {
        free(copy);
        return e->code;
    }
    bad = format ? vv_first_bad_block(format, bytes, blocks)
                 : first_bad_double(t->type, bytes, blocks);
    free(copy);
    if (bad == blocks) {
        return VV_OK;
    }
    unsigned long long block = first / block_values + bad;
    return vv_fail(e, VV_ERROR_INVALID,
                   "%s: tensor %s (%s), block %llu of %llu, has a scale or value that is infinite "
                   "or NaN: fetch the file again",
                   vv_gguf_path(v->file->gguf, t->shard), t->name, vv_type_name(t->type), block,
                   (unsigned long long)(t->elements / block_values));
}

static int verify_tensor(struct verify *v, const struct vv_gguf_tensor *t, struct vv_error *e) {
    const struct vv_type_info *type = vv_type_info(t->type);
    uint64_t piece = PIECE_BYTES / type->block_bytes * type->block_values;
    int code = VV_OK;
    for (uint64_t first = 0; code == VV_OK && first < t->elements; first += piece) {
        uint64_t rest = t->elements - first, count = rest < piece ? rest : piece;
        code = verify_piece(v, t, first, count, type->block_values, e);
        v->done += count / type->block_values * type->block_bytes;
        if (code == VV_OK && v->progress &&
            !v->progress(v->context, "verifying", v->done, v->total)) {
            code = vv_fail(e, VV_ERROR_CANCELLED, "stopped while verifying %s", t->name);
        }
    }
    return code;
}

int varve_file_verify(const struct varve_file *file, varve_progress progress, void *context,
                      struct varve_error *error) {
    struct verify v = {.file = file, .progress = progress, .context = context};
    int code = VV_OK;
    size_t count = vv_gguf_tensor_count(file->gguf);
    for (size_t i = 0; i < count; i++) {
        v.total += vv_gguf_tensor_at(file->gguf, i)->bytes;
    }
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        code = verify_tensor(&v, vv_gguf_tensor_at(file->gguf, i), vv_internal(error));
    }
    if (code == VV_OK) {
        code = vv_gguf_check_unchanged(file->gguf, vv_internal(error));
    }
    return code;
}
