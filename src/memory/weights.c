#include "memory/weights.h"
#include "memory/synthetic.h"
#include "quant/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128, CHUNK = 1 << 20, PACKED_CHUNK = 8 << 20 };

/* A printf name as text. */
#define VV_NAME(text, name)                                                                        \
    char text[NAME_MAX_BYTES];                                                                     \
    do {                                                                                           \
        va_list list_;                                                                             \
        va_start(list_, name);                                                                     \
        vsnprintf(text, sizeof text, name, list_);                                                 \
        va_end(list_);                                                                             \
    } while (0)

/* Device memory that the weights own. */
struct block {
    struct block *next;
    void *at;
};

struct handle {
    struct vv_weight weight; /* first: a handle is found from its weight */
    struct handle *next;
    void *owned; /* device memory that weight.data points to, or NULL: the mapped file */
};

struct vv_weights {
    const struct vv_gguf *file;
    struct vv_device *device;
    struct handle *handles;
    struct block *blocks;
    struct vv_synthetic *synthetic; /* of a description */
    bool *used;                     /* [tensors of the file] */
    const char *recoded; /* what names of matrices to keep as Q8_0 begin with; NULL: none */
    uint64_t bytes, values;
    struct vv_error failure;
};

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
    if (device && vv_gguf_described(file) && !(w->synthetic = vv_synthetic_new())) {
        vv_weights_free(w);
        return vv_fail_memory(error, sizeof(void *), "made-up weights");
    }
    *out = w;
    return VV_OK;
}

void vv_weights_recode(struct vv_weights *weights, const char *prefix) {
    weights->recoded = prefix;
}

void vv_weights_free(struct vv_weights *weights) {
    if (!weights) {
        return;
    }
    while (weights->handles) {
        struct handle *h = weights->handles;
        weights->handles = h->next;
        if (h->owned) {
            weights->device->calls->release(weights->device, h->owned);
        }
        free((char *)(uintptr_t)h->weight.name);
        free(h);
    }
    while (weights->blocks) {
        struct block *b = weights->blocks;
        weights->blocks = b->next;
        weights->device->calls->release(weights->device, b->at);
        free(b);
    }
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

static void *allocate(struct vv_weights *w, size_t bytes) {
    void *at = w->device->calls->allocate(w->device, bytes);
    if (!at) {
        struct vv_error error;
        vv_fail_memory(&error, bytes, "weights");
        vv_weights_fail(w, error.code, "%s", error.message);
    }
    return at;
}

const void *vv_weights_constant(struct vv_weights *weights, const void *from, size_t bytes) {
    if (!weights->device || weights->failure.code != VV_OK) {
        return NULL;
    }
    struct block *b = malloc(sizeof *b);
    void *at = b ? allocate(weights, bytes) : NULL;
    if (!at) {
        free(b);
        vv_weights_fail(weights, VV_ERROR_MEMORY, "no memory for a constant of the model");
        return NULL;
    }
    weights->device->calls->write(weights->device, at, from, bytes);
    *b = (struct block){weights->blocks, at};
    weights->blocks = b;
    return at;
}

/* Bytes of a tensor in host memory: the mapping, or `*temporary` read from the file. */
static const void *host_bytes(struct vv_weights *w, const struct vv_gguf_tensor *t,
                              void **temporary) {
    *temporary = NULL;
    const void *mapped = vv_gguf_tensor_data(w->file, t);
    if (mapped) {
        return mapped;
    }
    *temporary = malloc(t->bytes);
    if (!*temporary) {
        vv_fail_memory(&w->failure, t->bytes, t->name);
    } else if (vv_gguf_read_tensor(w->file, t, 0, t->bytes, *temporary, &w->failure) != VV_OK) {
        free(*temporary);
        *temporary = NULL;
    }
    return *temporary;
}

/* Where a tensor's bytes come from: the mapping, plain reads, or nowhere. */
struct source {
    struct vv_weights *w;
    const struct vv_gguf_tensor *t;
    const uint8_t *mapped; /* NULL: it isn't */
    struct vv_made_up made_up;
    uint8_t *room; /* for pieces that are not mapped */
};

static bool open_source(struct vv_weights *w, const struct vv_gguf_tensor *t, size_t piece,
                        struct source *s) {
    *s = (struct source){.w = w, .t = t, .mapped = vv_gguf_tensor_data(w->file, t)};
    if (w->synthetic) {
        struct vv_error error;
        if (vv_synthetic_begin(w->synthetic, t, &s->made_up, &error) != VV_OK) {
            vv_weights_fail(w, error.code, "%s", error.message);
            return false;
        }
    }
    s->room = s->mapped ? NULL : malloc(piece);
    return s->mapped || s->room;
}

/* Bytes of a tensor in host memory until the next call; NULL after a failure. */
static const uint8_t *piece_of(struct source *s, uint64_t offset, size_t bytes) {
    if (s->mapped) {
        return s->mapped + offset;
    }
    if (s->w->synthetic) {
        vv_made_up_bytes(&s->made_up, offset, bytes, s->room);
        return s->room;
    }
    int code = vv_gguf_read_tensor(s->w->file, s->t, offset, bytes, s->room, &s->w->failure);
    return code == VV_OK ? s->room : NULL;
}

static void *give_up(struct vv_weights *w, const struct vv_gguf_tensor *t, void *at) {
    vv_weights_fail(w, VV_ERROR_MEMORY, "no memory for the tensor \"%s\"", t->name);
    if (at) {
        w->device->calls->release(w->device, at);
    }
    return NULL;
}

/* Copies a tensor to the device in pieces: a second whole copy would double the memory. */
static void *copy_to_device(struct vv_weights *w, const struct vv_gguf_tensor *t) {
    struct source s = {0};
    uint8_t *at = allocate(w, t->bytes);
    bool ok = at && open_source(w, t, CHUNK, &s);
    size_t chunk = CHUNK / vv_type_info(t->type)->block_bytes * vv_type_info(t->type)->block_bytes;
    for (uint64_t done = 0; ok && done < t->bytes; done += chunk) {
        size_t n = t->bytes - done < chunk ? (size_t)(t->bytes - done) : chunk;
        const uint8_t *piece = piece_of(&s, done, n);
        ok = piece != NULL;
        if (ok) {
            w->device->calls->write(w->device, at + done, piece, n);
        }
    }
    free(s.room);
    return ok ? at : give_up(w, t, at);
}

struct making {
    struct vv_made_up made_up;
    uint8_t *at;
};

static void make_share(void *context, struct vv_team *team, unsigned thread) {
    const struct making *m = context;
    const struct vv_gguf_tensor *t = m->made_up.tensor;
    uint64_t block = vv_type_info(t->type)->block_bytes, piece = CHUNK / block * block;
    for (uint64_t at = thread * piece; at < t->bytes; at += vv_team_threads(team) * piece) {
        uint64_t left = t->bytes - at;
        vv_made_up_bytes(&m->made_up, at, (size_t)(left < piece ? left : piece), m->at + at);
    }
}

/* On all threads, where the device's memory is ours: most of the time goes into touching it first.
 */
static void *make_in_place(struct vv_weights *w, const struct vv_gguf_tensor *t) {
    struct source s = {0};
    struct making m = {.at = allocate(w, t->bytes)};
    bool ok = m.at && open_source(w, t, 1, &s);
    if (ok) {
        m.made_up = s.made_up;
        w->device->calls->run(w->device, make_share, &m);
    }
    free(s.room);
    return ok ? m.at : give_up(w, t, m.at);
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
    const void *from = w->synthetic ? NULL : host_bytes(w, t, &temporary);
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
    return at;
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

/* The same in the order that the device wants, some rows at a time: its layout keeps rows apart. */
static void *pack_to_device(struct vv_weights *w, const struct vv_gguf_tensor *t,
                            const struct vv_weight *weight) {
    const struct vv_layout *layout = w->device->layout;
    size_t rows = weight->rows * weight->slices, most = PACKED_CHUNK / weight->row_bytes + 1;
    struct vv_weight piece = *weight;
    piece.slices = 1;
    piece.rows = most < rows ? most : rows;
    uint8_t *at = allocate(w, layout->bytes(weight)), *to = at;
    uint8_t *packed = malloc(layout->bytes(&piece));
    struct source s = {0};
    bool ok = at && packed && open_source(w, t, piece.rows * weight->row_bytes, &s);
    for (size_t row = 0; ok && row < rows; row += piece.rows) {
        piece.rows = rows - row < piece.rows ? rows - row : piece.rows;
        piece.data = piece_of(&s, row * weight->row_bytes, piece.rows * weight->row_bytes);
        ok = piece.data != NULL;
        if (ok) {
            layout->pack(&piece, packed);
            w->device->calls->write(w->device, to, packed, layout->bytes(&piece));
            to += layout->bytes(&piece);
        }
    }
    free(s.room);
    free(packed);
    return ok ? at : give_up(w, t, at);
}

/* The type that a matrix is kept in: of one that is made up its own. */
static int kept_type(const struct vv_weights *w, const struct vv_gguf_tensor *t) {
    const struct vv_format *q8 = vv_format(VV_TYPE_Q8_0);
    bool recodes = w->recoded && !w->synthetic &&
                   strncmp(t->name, w->recoded, strlen(w->recoded)) == 0 && t->dimensions > 1 &&
                   vv_format(t->type)->arithmetic == VV_ARITHMETIC_FLOAT &&
                   t->ne[0] % q8->block_values == 0;
    return recodes ? VV_TYPE_Q8_0 : t->type;
}

/* The rows of a tensor, whose values are `from`, in the weight's type. */
static bool encode_rows(struct vv_weights *w, const struct vv_gguf_tensor *t,
                        const struct vv_weight *to, const uint8_t *from,
                        float *values /* [width] */, uint8_t *blocks) {
    const struct vv_format *old = vv_format(t->type), *new = vv_format(to->type);
    for (size_t r = 0; r < to->rows * to->slices; r++) {
        old->decode(from + r * to->width * old->block_bytes, values, to->width);
        if (vv_first_unfit(new, values, to->width) < to->width) {
            vv_weights_fail(w, VV_ERROR_INVALID,
                            "%s: row %zu of the tensor \"%s\" has a value that Q8_0 can't hold: "
                            "leave its precision as it is",
                            vv_gguf_path(w->file, t->shard), r, t->name);
            return false;
        }
        new->encode(values, blocks + r * to->row_bytes, to->width);
    }
    return true;
}

/* Puts host bytes where kernels can read them, in the device's order. */
static void *put(struct vv_weights *w, const struct vv_weight *weight, const void *blocks) {
    const struct vv_layout *layout = w->device->layout;
    struct vv_weight from = *weight;
    from.data = blocks;
    size_t bytes =
        layout ? layout->bytes(weight) : weight->rows * weight->slices * weight->row_bytes;
    void *packed = layout ? malloc(bytes) : NULL;
    void *at = !layout || packed ? allocate(w, bytes) : NULL;
    if (packed) {
        layout->pack(&from, packed);
    }
    if (at) {
        w->device->calls->write(w->device, at, packed ? packed : blocks, bytes);
    }
    free(packed);
    return at;
}

static bool recode(struct vv_weights *w, struct handle *h, const struct vv_gguf_tensor *t) {
    void *temporary;
    const void *from = host_bytes(w, t, &temporary);
    float *values = malloc(h->weight.width * sizeof *values);
    uint8_t *blocks = malloc(h->weight.rows * h->weight.slices * h->weight.row_bytes);
    if (from && values && blocks && encode_rows(w, t, &h->weight, from, values, blocks)) {
        h->owned = put(w, &h->weight, blocks);
    }
    h->weight.layout = w->device->layout;
    h->weight.data = h->owned;
    free(temporary);
    free(values);
    free(blocks);
    if (!h->owned) {
        vv_weights_fail(w, VV_ERROR_MEMORY, "no memory for the tensor \"%s\"", t->name);
    }
    return h->owned != NULL;
}

/* Puts the data where kernels can read them. */
static bool place(struct vv_weights *w, struct handle *h, const struct vv_gguf_tensor *t) {
    if (h->weight.type != t->type) {
        return recode(w, h, t);
    }
    const void *mapped = vv_gguf_tensor_data(w->file, t);
    if (mapped && w->device->shares_host_memory) {
        h->weight.data = mapped;
        return true;
    }
    bool in_place = w->synthetic && w->device->shares_host_memory;
    h->owned = w->device->layout ? pack_to_device(w, t, &h->weight)
               : in_place        ? make_in_place(w, t)
                                 : copy_to_device(w, t);
    h->weight.layout = w->device->layout;
    h->weight.data = h->owned;
    return h->owned != NULL;
}

/* The handle of a tensor whose shape was checked. */
static struct vv_weight *handle(struct vv_weights *weights, const struct vv_gguf_tensor *t,
                                const char *name, size_t rows, size_t slices) {
    char scale[NAME_MAX_BYTES + 8];
    mark(weights, t);
    struct handle *h = calloc(1, sizeof *h);
    char *copy = strdup(name);
    if (!h || !copy) {
        free(h);
        free(copy);
        vv_weights_fail(weights, VV_ERROR_MEMORY, "no memory for the handle of \"%s\"", name);
        return NULL;
    }
    h->next = weights->handles;
    weights->handles = h;
    uint64_t row_bytes = 0;
    vv_type_bytes(kept_type(weights, t), t->ne[0], &row_bytes);
    h->weight = (struct vv_weight){.name = copy,
                                   .type = kept_type(weights, t),
                                   .width = (size_t)t->ne[0],
                                   .rows = rows,
                                   .slices = slices,
                                   .row_bytes = (size_t)row_bytes};
    snprintf(scale, sizeof scale, "%s.scale", name);
    const struct vv_gguf_tensor *s = vv_gguf_find_tensor(weights->file, scale);
    if (s) {
        h->weight.scale = scale_of(weights, t, s, slices);
    }
    return weights->device && !place(weights, h, t) ? NULL : &h->weight;
}

struct vv_weight *vv_weights_matrix(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t && right_shape(weights, t, width, rows, slices)
               ? handle(weights, t, text, rows, slices)
               : NULL;
}

struct vv_weight *vv_weights_blocks(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) {
    VV_NAME(text, name);
    const struct vv_gguf_tensor *t = need(weights, text);
    return t && right_shape(weights, t, width, rows * slices, 1)
               ? handle(weights, t, text, rows, slices)
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
    const uint8_t *from = host_bytes(w, t, &temporary);
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
    return weights->device ? integers(weights, t, below) : NULL;
}

int vv_weights_pack(struct vv_weights *weights, struct vv_weight *weight,
                    const struct vv_layout *layout, struct vv_error *error) {
    struct handle *h = (struct handle *)weight;
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

int vv_weights_end(const struct vv_weights *weights, struct vv_error *error) {
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

uint64_t vv_weights_values(const struct vv_weights *weights) {
    return weights->values;
}
