/* Where weights' data come from and where they go. */
#include "device/launch.h"
#include "memory/weights_internal.h"
#include "quant/format.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, PACKED_CHUNK = 16 << 20 };

void *vv_weights_allocate(struct vv_weights *w, size_t bytes) {
    void *at = w->to_host ? w->device->launcher->host(w->device, bytes)
                          : w->device->calls->allocate(w->device, bytes);
    if (!at) {
        struct vv_error error;
        vv_fail_memory(&error, bytes, w->to_host ? "a table in the host's memory" : "weights");
        vv_weights_fail(w, error.code, "%s", error.message);
    }
    return at;
}

void vv_weights_release(struct vv_weights *w, void *at, bool in_host) {
    if (in_host) {
        w->device->launcher->unhost(w->device, at);
    } else {
        w->device->calls->release(w->device, at);
    }
}

const void *vv_weights_host_bytes(struct vv_weights *w, const struct vv_gguf_tensor *t,
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

bool vv_weights_go_on(struct vv_weights *w, uint64_t bytes) {
    w->placed = bytes < w->total - w->placed ? w->placed + bytes : w->total;
    bool on = !w->progress || w->progress(w->context, "loading", w->placed, w->total);
    if (!on) {
        vv_weights_fail(w, VV_ERROR_CANCELLED, "loading the model was ended early");
    }
    return on;
}

static bool make_up(struct vv_weights *w, const struct vv_gguf_tensor *t, struct vv_made_up *m) {
    struct vv_error error;
    int code = vv_synthetic_begin(w->synthetic, t, m, &error);
    if (code != VV_OK) {
        vv_weights_fail(w, code, "%s", error.message);
    }
    return code == VV_OK;
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
    if (w->synthetic && !make_up(w, t, &s->made_up)) {
        return false;
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
        vv_weights_release(w, at, w->to_host);
    }
    return NULL;
}

/* Copies a tensor to the device in pieces: a second whole copy would double the memory. */
static void *copy_to_device(struct vv_weights *w, const struct vv_gguf_tensor *t) {
    struct source s = {0};
    uint8_t *at = vv_weights_allocate(w, t->bytes);
    bool ok = at && open_source(w, t, CHUNK, &s);
    size_t chunk = CHUNK / vv_type_info(t->type)->block_bytes * vv_type_info(t->type)->block_bytes;
    for (uint64_t done = 0; ok && done < t->bytes; done += chunk) {
        size_t n = t->bytes - done < chunk ? (size_t)(t->bytes - done) : chunk;
        const uint8_t *piece = piece_of(&s, done, n);
        ok = piece != NULL;
        if (ok) {
            w->device->calls->write(w->device, at + done, piece, n);
            ok = vv_weights_go_on(w, n);
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
static void *make_in_place(struct vv_weights *w, const struct vv_made_up *m) {
    struct making making = {*m, vv_weights_allocate(w, m->tensor->bytes)};
    if (making.at) {
        w->device->calls->run(w->device, make_share, &making);
    }
    return making.at && vv_weights_go_on(w, m->tensor->bytes) ? making.at
                                                              : give_up(w, m->tensor, making.at);
}

static void *make_on_device(struct vv_weights *w, const struct vv_made_up *m,
                            const struct vv_weight *weight) {
    const struct vv_layout *layout = w->device->layout;
    void *at = vv_weights_allocate(w, layout ? layout->bytes(weight) : m->tensor->bytes);
    struct vv_error error;
    int code = at ? vv_made_up_place(w->synthetic, m, weight, at, &error) : VV_OK;
    if (code != VV_OK) {
        vv_weights_fail(w, code, "%s", error.message);
    }
    return at && code == VV_OK && vv_weights_go_on(w, m->tensor->bytes) ? at
                                                                        : give_up(w, m->tensor, at);
}

static struct vv_packer *packer_of(struct vv_weights *w) {
    struct vv_error error;
    if (!w->packer && !(w->packer = vv_packer_new(w->device, &error))) {
        vv_weights_fail(w, error.code, "%s", error.message);
    }
    return w->packer;
}

/* The same in the order that the device wants, some rows at a time: its layout keeps rows apart. */
static void *pack_to_device(struct vv_weights *w, const struct vv_gguf_tensor *t,
                            const struct vv_weight *weight) {
    const struct vv_layout *layout = w->device->layout;
    size_t rows = weight->rows * weight->slices, most = PACKED_CHUNK / weight->row_bytes + 1;
    struct vv_weight piece = *weight;
    piece.slices = 1;
    piece.rows = most < rows ? most : rows;
    uint8_t *at = vv_weights_allocate(w, layout->bytes(weight)), *to = at;
    struct vv_packer *packer = at ? packer_of(w) : NULL;
    struct source s = {0};
    struct vv_error error;
    bool ok = packer && open_source(w, t, piece.rows * weight->row_bytes, &s);
    for (size_t row = 0; ok && row < rows; row += piece.rows) {
        piece.rows = rows - row < piece.rows ? rows - row : piece.rows;
        piece.data = piece_of(&s, row * weight->row_bytes, piece.rows * weight->row_bytes);
        ok = piece.data != NULL;
        if (ok && vv_packer_send(packer, &piece, to, w->to_host, &error) != VV_OK) {
            vv_weights_fail(w, error.code, "%s", error.message);
            ok = false;
        }
        to += layout->bytes(&piece);
        ok = ok && vv_weights_go_on(w, piece.rows * weight->row_bytes);
    }
    free(s.room);
    if (packer) {
        vv_packer_settle(packer);
    }
    return ok ? at : give_up(w, t, at);
}

/* ---- matrices that are kept in another type ---- */

int vv_weights_kept_type(const struct vv_weights *w, const struct vv_gguf_tensor *t) {
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
    void *at = !layout || packed ? vv_weights_allocate(w, bytes) : NULL;
    if (packed) {
        layout->pack(&from, packed);
    }
    if (at) {
        w->device->calls->write(w->device, at, packed ? packed : blocks, bytes);
    }
    free(packed);
    return at;
}

static bool recode(struct vv_weights *w, struct vv_weight_handle *h,
                   const struct vv_gguf_tensor *t) {
    void *temporary;
    const void *from = vv_weights_host_bytes(w, t, &temporary);
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

/* What is made up and has no pattern goes the way that files' data go. */
static void *bring(struct vv_weights *w, const struct vv_weight *weight,
                   const struct vv_gguf_tensor *t) {
    const struct vv_device *d = w->device;
    struct vv_made_up m = {0};
    if (w->synthetic && !make_up(w, t, &m)) {
        return NULL;
    }
    if (w->synthetic && d->shares_host_memory && !d->layout) {
        return make_in_place(w, &m);
    }
    return m.pattern   ? make_on_device(w, &m, weight)
           : d->layout ? pack_to_device(w, t, weight)
                       : copy_to_device(w, t);
}

bool vv_weights_place(struct vv_weights *w, struct vv_weight_handle *h,
                      const struct vv_gguf_tensor *t) {
    if (h->weight.type != t->type) {
        h->in_host = false;
        return recode(w, h, t) && vv_weights_go_on(w, t->bytes);
    }
    const void *mapped = vv_gguf_tensor_data(w->file, t);
    if (mapped && w->device->shares_host_memory) {
        h->weight.data = mapped;
        return vv_weights_go_on(w, t->bytes);
    }
    w->to_host = h->in_host;
    h->owned = bring(w, &h->weight, t);
    w->to_host = false;
    h->weight.layout = w->device->layout;
    h->weight.data = h->owned;
    return h->owned != NULL;
}
