#include "memory/weights_internal.h"
#include "quant/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128 };

/* A printf name as text. */
#define VV_NAME(text, name)                                                                        \
    char text[NAME_MAX_BYTES];                                                                     \
    do {                                                                                           \
        va_list list_;                                                                             \
        va_start(list_, name);                                                                     \
        vsnprintf(text, sizeof text, name, list_);                                                 \
        va_end(list_);                                                                             \
    } while (0)

int vv_weights_new(const struct vv_gguf *file, struct vv_device *device, struct vv_weights **out,
                   struct vv_error *error) {
    struct vv_weights *w = calloc(1, sizeof *w);
    bool *used = calloc(vv_gguf_tensor_count(file) + 1, sizeof *used);
    if (!w || !used) {
        free(w);
        free(used);
        return vv_fail_memory(error, vv_gguf_tensor_count(file), "the list of weights");
    }
    w->file = file;
    w->device = device;
    w->used = used;
    if (device && vv_gguf_described(file) && !(w->synthetic = vv_synthetic_new(device))) {
        vv_weights_free(w);
        return vv_fail_memory(error, sizeof(void *), "made-up weights");
    }
    *out = w;
    return VV_OK;
}

void vv_weights_watch(struct vv_weights *weights, vv_weights_progress *progress, void *context) {
    weights->progress = progress;
    weights->context = context;
    weights->placed = weights->total = 0;
    for (size_t i = 0; i < vv_gguf_tensor_count(weights->file); i++) {
        weights->total += vv_gguf_tensor_at(weights->file, i)->bytes;
    }
}

void vv_weights_recode(struct vv_weights *weights, const char *prefix) {
    weights->recoded = prefix;
}

void vv_weights_tables_to_host(struct vv_weights *weights) {
    weights->tables_to_host = weights->device && weights->device->launcher;
}

void vv_weights_free(struct vv_weights *weights) {
    if (!weights) {
        return;
    }
    while (weights->handles) {
        struct vv_weight_handle *h = weights->handles;
        weights->handles = h->next;
        if (h->owned) {
            vv_weights_release(weights, h->owned, h->in_host);
        }
        free((char *)(uintptr_t)h->weight.name);
        free(h);
    }
    while (weights->blocks) {
        struct vv_weight_block *b = weights->blocks;
        weights->blocks = b->next;
        weights->device->calls->release(weights->device, b->at);
        free(b);
    }
    vv_packer_free(weights->packer);
    vv_synthetic_free(weights->synthetic);
    free(weights->used);
    free(weights);
}

void vv_weights_fail(struct vv_weights *weights, int code, const char *format, ...) {
    if (weights->failure.code == VV_OK) {
        va_list list;
        va_start(list, format);
        vv_fail_va(&weights->failure, code, format, list);
        va_end(list);
    }
}

/* ---- names ---- */

/* `name`.weight, or `name` as it stands. */
static const struct vv_gguf_tensor *find(const struct vv_weights *w, const char *name) {
    char full[NAME_MAX_BYTES + 8];
    snprintf(full, sizeof full, "%s.weight", name);
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(w->file, full);
    return t ? t : vv_gguf_find_tensor(w->file, name);
}

static const struct vv_gguf_tensor *need(struct vv_weights *w, const char *name) {
    if (w->failure.code != VV_OK) {
        return NULL;
    }
    const struct vv_gguf_tensor *t = find(w, name);
    if (!t) {
        vv_weights_fail(w, VV_ERROR_INVALID,
                        "%s: the tensor \"%s.weight\" is missing, without which this model can't "
                        "run; get a complete file",
                        vv_gguf_path(w->file, 0), name);
    }
    return t;
}

static void mark(struct vv_weights *w, const struct vv_gguf_tensor *t) {
    for (size_t i = 0; i < vv_gguf_tensor_count(w->file); i++) {
        if (vv_gguf_tensor_at(w->file, i) == t) {
            if (!w->used[i]) {
                w->bytes += t->bytes;
                w->values += t->elements;
            }
            w->used[i] = true;
        }
    }
}

bool vv_weights_has(const struct vv_weights *weights, const char *name, ...) {
    VV_NAME(text, name);
    return find(weights, text) != NULL;
}

/* ---- memory ---- */

const void *vv_weights_constant(struct vv_weights *weights, const void *from, size_t bytes) {
    if (!weights->device || weights->failure.code != VV_OK) {
        return NULL;
    }
    struct vv_weight_block *b = malloc(sizeof *b);
    void *at = b ? vv_weights_allocate(weights, bytes) : NULL;
    if (!at) {
        free(b);
        vv_weights_fail(weights, VV_ERROR_MEMORY, "no memory for a constant of the model");
        return NULL;
    }
    weights->device->calls->write(weights->device, at, from, bytes);
    *b = (struct vv_weight_block){weights->blocks, at};
    weights->blocks = b;
    return at;
}

/* ---- small tensors ---- */

static bool wrong_shape(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t width,
                        size_t rows, size_t slices) {
    vv_weights_fail(
        w, VV_ERROR_INVALID,
        "%s: the tensor \"%s\" is %llu x %llu x %llu where the model's metadata ask for "
        "%zu x %zu x %zu; the file is damaged or of another kind",
        vv_gguf_path(w->file, t->shard), t->name, (unsigned long long)t->ne[0],
        (unsigned long long)t->ne[1], (unsigned long long)t->ne[2], width, rows, slices);
    return false;
}

/* All values of a tensor, to be freed; NULL after a failure. */
static float *values_of(struct vv_weights *w, const struct vv_gguf_tensor *t,
                        const struct vv_format *format, size_t count) {
    void *temporary = NULL;
    const void *from = w->synthetic ? NULL : vv_weights_host_bytes(w, t, &temporary);
    float *values = from || w->synthetic ? malloc(count * sizeof *values) : NULL;
    if (values && from) {
        format->decode(from, values, count);
    } else if (values) {
        vv_synthetic_values(t, values);
    }
    free(temporary);
    return values;
}

/* All of it stands `times` times on the device. */
static const float *repeated(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t width,
                             size_t rows, size_t times) {
    const struct vv_format *format = vv_format(t->type);
    size_t count = width * rows;
    if (t->ne[0] != width || t->elements != count) {
        wrong_shape(w, t, width, rows, 1);
        return NULL;
    }
    if (!format) {
        vv_weights_fail(w, VV_ERROR_UNSUPPORTED,
                        "%s: the tensor \"%s\" has the type %s, which can't be a weight",
                        vv_gguf_path(w->file, t->shard), t->name, vv_type_name(t->type));
        return NULL;
    }
    mark(w, t);
    if (!w->device) {
        return NULL;
    }
    float *values = values_of(w, t, format, count);
    float *all = values ? malloc(times * count * sizeof *all) : NULL;
    const float *at = NULL;
    for (size_t i = 0; all && i < times; i++) {
        memcpy(all + i * count, values, count * sizeof *all);
    }
    if (all) {
        at = vv_weights_constant(w, all, times * count * sizeof *all);
    } else {
        vv_weights_fail(w, VV_ERROR_MEMORY, "no memory for the tensor \"%s\"", t->name);
    }
    free(values);
    free(all);
    return at && vv_weights_go_on(w, t->bytes) ? at : NULL;
}

static const float *vector(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t width,
                           size_t rows) {
    return repeated(w, t, width, rows, 1);
}

/* The scale of each slice of t. What is one matrix in the file and taken for several (the groups of
 * an attention's output) may have one scale, as its converter saw it. */
static const float *scale_of(struct vv_weights *w, const struct vv_gguf_tensor *t,
                             const struct vv_gguf_tensor *scale, size_t slices) {
    bool one = t->ne[2] == 1 && scale->elements == 1;
    return one ? repeated(w, scale, 1, 1, slices) : vector(w, scale, slices, 1);
}

const float *vv_weights_vector(struct vv_weights *weights, size_t width, size_t rows,
                               const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t ? vector(weights, t, width, rows) : NULL;
}

/* ---- matrices ---- */

static bool right_shape(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t width,
                        size_t rows, size_t slices) {
    const struct vv_format *format = vv_format(t->type);
    if (t->ne[0] != width || t->ne[1] != rows || t->ne[2] != slices || t->ne[3] != 1) {
        return wrong_shape(w, t, width, rows, slices);
    }
    if (!format || format->arithmetic == VV_ARITHMETIC_NONE) {
        vv_weights_fail(w, VV_ERROR_UNSUPPORTED,
                        "%s: the tensor \"%s\" has the type %s, which can't be a weight",
                        vv_gguf_path(w->file, t->shard), t->name, vv_type_name(t->type));
        return false;
    }
    return true;
}

/* The handle of a tensor whose shape was checked. */
static struct vv_weight *handle(struct vv_weights *weights, const struct vv_gguf_tensor *t,
                                const char *name, size_t rows, size_t slices, bool table) {
    char scale[NAME_MAX_BYTES + 8];
    mark(weights, t);
    struct vv_weight_handle *h = calloc(1, sizeof *h);
    char *copy = strdup(name);
    if (!h || !copy) {
        free(h);
        free(copy);
        vv_weights_fail(weights, VV_ERROR_MEMORY, "no memory for the handle of \"%s\"", name);
        return NULL;
    }
    h->in_host = table && weights->tables_to_host;
    weights->table_bytes += table ? t->bytes : 0;
    h->next = weights->handles;
    weights->handles = h;
    uint64_t row_bytes = 0;
    vv_type_bytes(vv_weights_kept_type(weights, t), t->ne[0], &row_bytes);
    h->weight = (struct vv_weight){.name = copy,
                                   .type = vv_weights_kept_type(weights, t),
                                   .width = (size_t)t->ne[0],
                                   .rows = rows,
                                   .slices = slices,
                                   .row_bytes = (size_t)row_bytes};
    snprintf(scale, sizeof scale, "%s.scale", name);
    const struct vv_gguf_tensor *s = vv_gguf_find_tensor(weights->file, scale);
    if (s) {
        h->weight.scale = scale_of(weights, t, s, slices);
    }
    return weights->device && !vv_weights_place(weights, h, t) ? NULL : &h->weight;
}

struct vv_weight *vv_weights_matrix(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t && right_shape(weights, t, width, rows, slices)
               ? handle(weights, t, text, rows, slices, false)
               : NULL;
}

struct vv_weight *vv_weights_table(struct vv_weights *weights, size_t width, size_t rows,
                                   const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t && right_shape(weights, t, width, rows, 1) ? handle(weights, t, text, rows, 1, true)
                                                        : NULL;
}

struct vv_weight *vv_weights_blocks(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t && right_shape(weights, t, width, rows * slices, 1)
               ? handle(weights, t, text, rows, slices, false)
               : NULL;
}

/* ---- integers ---- */

static const int32_t *made_up_integers(struct vv_weights *w, const struct vv_gguf_tensor *t,
                                       size_t below) {
    int32_t *values = malloc(t->bytes);
    if (!values) {
        vv_fail_memory(&w->failure, t->bytes, t->name);
        return NULL;
    }
    vv_synthetic_integers(t, below, values);
    const int32_t *at = vv_weights_constant(w, values, t->bytes);
    free(values);
    return at;
}

static const int32_t *integers(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t below) {
    if (w->synthetic) {
        return made_up_integers(w, t, below);
    }
    void *temporary;
    const uint8_t *from = vv_weights_host_bytes(w, t, &temporary);
    const int32_t *at = NULL;
    bool good = from != NULL;
    for (uint64_t i = 0; good && i < t->elements; i++) {
        int32_t value;
        memcpy(&value, from + i * sizeof value, sizeof value);
        if (value < 0 || (size_t)value >= below) {
            vv_weights_fail(w, VV_ERROR_INVALID,
                            "%s: element %llu of the tensor \"%s\" is %d, which is not between 0 "
                            "and %zu; the file is damaged",
                            vv_gguf_path(w->file, t->shard), (unsigned long long)i, t->name, value,
                            below - 1);
            good = false;
        }
    }
    if (good) {
        at = vv_weights_constant(w, from, t->bytes);
    }
    free(temporary);
    return at;
}

const int32_t *vv_weights_integers(struct vv_weights *weights, size_t width, size_t rows,
                                   size_t below, const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    if (!t) {
        return NULL;
    }
    if (t->ne[0] != width || t->ne[1] != rows || t->elements != width * rows) {
        wrong_shape(weights, t, width, rows, 1);
        return NULL;
    }
    if (t->type != VV_TYPE_I32) {
        vv_weights_fail(weights, VV_ERROR_UNSUPPORTED,
                        "%s: the tensor \"%s\" has the type %s where whole numbers (I32) are "
                        "needed; get a file whose converter left it alone",
                        vv_gguf_path(weights->file, t->shard), t->name, vv_type_name(t->type));
        return NULL;
    }
    mark(weights, t);
    const int32_t *at = weights->device ? integers(weights, t, below) : NULL;
    return at && vv_weights_go_on(weights, t->bytes) ? at : NULL;
}

int vv_weights_pack(struct vv_weights *weights, struct vv_weight *weight,
                    const struct vv_layout *layout, struct vv_error *error) {
    struct vv_weight_handle *h = (struct vv_weight_handle *)weight;
    if (weight->layout == layout) {
        return VV_OK;
    }
    size_t bytes = layout->bytes(weight), plain = weight->slices * weight->rows * weight->row_bytes;
    struct vv_weight from = *weight; /* pack reads and writes host memory */
    void *packed = malloc(bytes), *copy = NULL;
    if (packed && h->owned) {
        copy = malloc(plain);
        from.data = copy;
        if (copy) {
            weights->device->calls->read(weights->device, copy, h->owned, plain);
        }
    }
    void *at =
        packed && from.data ? weights->device->calls->allocate(weights->device, bytes) : NULL;
    if (at) {
        layout->pack(&from, packed);
        weights->device->calls->write(weights->device, at, packed, bytes);
        if (h->owned) {
            weights->device->calls->release(weights->device, h->owned);
        }
        h->owned = at;
        weight->data = at;
        weight->layout = layout;
    }
    free(packed);
    free(copy);
    return at ? VV_OK : vv_fail_memory(error, bytes, weight->name);
}

/* ---- the end ---- */

int vv_weights_end(struct vv_weights *weights, struct vv_error *error) {
    vv_packer_free(weights->packer);
    weights->packer = NULL;
    if (weights->failure.code != VV_OK) {
        *error = weights->failure;
        return error->code;
    }
    size_t left = 0;
    const char *first = NULL;
    for (size_t i = vv_gguf_tensor_count(weights->file); i-- > 0;) {
        if (!weights->used[i]) {
            left++;
            first = vv_gguf_tensor_at(weights->file, i)->name;
        }
    }
    if (left > 0) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s: %zu of its tensors are unknown to this architecture, \"%s\" the first: "
                       "running without them would give another model's results",
                       vv_gguf_path(weights->file, 0), left, first);
    }
    return VV_OK;
}

bool vv_weights_uses(const struct vv_weights *weights, size_t index) {
    return weights->used[index];
}

uint64_t vv_weights_bytes(const struct vv_weights *weights) {
    return weights->bytes;
}

uint64_t vv_weights_table_bytes(const struct vv_weights *weights) {
    return weights->table_bytes;
}

uint64_t vv_weights_bytes_in_host(const struct vv_weights *weights) {
    return weights->tables_to_host ? weights->table_bytes : 0;
}

uint64_t vv_weights_values(const struct vv_weights *weights) {
    return weights->values;
}
