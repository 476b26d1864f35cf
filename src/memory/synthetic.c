#include "memory/synthetic.h"
#include "quant/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERNS = 24, PIECE = 1 << 20, ANEW_MOST = 64 << 20 };

/* Rows of one format, width and deviation, twice in a row, so that a piece may begin anywhere. */
struct vv_pattern {
    int type;
    uint64_t width;
    size_t row_bytes, rows; /* of a piece */
    uint8_t *at;            /* [2][rows][row_bytes] */
    uint8_t *on_device;     /* the same in the device's order; NULL: not there yet */
};

struct vv_synthetic {
    struct vv_device *device;
    struct vv_pattern patterns[PATTERNS];
    size_t next; /* the one that makes room, modulo their number */
};

struct vv_synthetic *vv_synthetic_new(struct vv_device *device) {
    struct vv_synthetic *s = calloc(1, sizeof *s);
    if (s) {
        s->device = device;
    }
    return s;
}

static void forget(struct vv_synthetic *s, struct vv_pattern *p) {
    free(p->at);
    if (p->on_device) {
        s->device->calls->release(s->device, p->on_device);
    }
    *p = (struct vv_pattern){0};
}

void vv_synthetic_free(struct vv_synthetic *synthetic) {
    for (size_t i = 0; synthetic && i < PATTERNS; i++) {
        forget(synthetic, &synthetic->patterns[i]);
    }
    free(synthetic);
}

/* FNV-1a of the name: each tensor has numbers of its own. */
static uint64_t seed_of(const struct vv_gguf_tensor *t) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = t->name; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    }
    return hash;
}

static float deviation_of(const struct vv_gguf_tensor *t) {
    return 1.0f / sqrtf((float)t->ne[0]);
}

/* ---- small tensors ---- */

/* By a part of the name; the first that matches. */
static const struct {
    const char *part;
    float mean, deviation;
} kinds[] = {
    {"norm", 1.0f, 0.1f},
    {"ssm_a", -8.0f, 2.0f},       /* decays: minus the exponentials of what was trained */
    {"ssm_dt.bias", -4.5f, 1.0f}, /* softplus of it: memories of ten to a thousand tokens */
    {"conv1d", 0.0f, 0.5f},
};

void vv_synthetic_values(const struct vv_gguf_tensor *tensor, float *to) {
    float mean = 0, deviation = deviation_of(tensor);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strstr(tensor->name, kinds[i].part)) {
            mean = kinds[i].mean;
            deviation = kinds[i].deviation;
            break;
        }
    }
    vv_random_normals(seed_of(tensor), mean, deviation, to, tensor->elements);
}

/* Each row begins anywhere and goes on in steps that together stay below one turn. */
void vv_synthetic_integers(const struct vv_gguf_tensor *tensor, size_t below, int32_t *to) {
    uint64_t seed = seed_of(tensor), width = tensor->ne[0];
    uint64_t step = below > width ? below / width : 1;
    for (uint64_t i = 0; i < tensor->elements; i++) {
        uint64_t random = vv_random_word(seed, i);
        uint64_t next = i % width == 0 ? random : (uint64_t)to[i - 1] + 1 + random % step;
        to[i] = (int32_t)(next % below);
    }
}

/* ---- matrices ---- */

static bool is_of(const struct vv_pattern *p, const struct vv_gguf_tensor *t) {
    return p->at && p->type == t->type && p->width == t->ne[0];
}

/* Where that of a format and width is, or may be. */
static struct vv_pattern *slot_of(struct vv_synthetic *s, const struct vv_gguf_tensor *t) {
    for (size_t i = 0; i < PATTERNS; i++) {
        if (is_of(&s->patterns[i], t)) {
            return &s->patterns[i];
        }
    }
    return &s->patterns[s->next++ % PATTERNS];
}

/* With as many rows as the tensor has, up to a piece. */
static struct vv_pattern *pattern_of(struct vv_synthetic *s, const struct vv_format *f,
                                     const struct vv_gguf_tensor *t) {
    struct vv_pattern *p = slot_of(s, t);
    size_t row_bytes = (size_t)(t->ne[0] / f->block_values) * f->block_bytes;
    uint64_t all = t->bytes / row_bytes;
    size_t most = PIECE / row_bytes + 1, rows = all < most ? (size_t)all : most;
    if (is_of(p, t) && p->rows >= rows) {
        return p;
    }
    size_t bytes = rows * row_bytes;
    uint8_t *at = malloc(2 * bytes);
    if (!at) {
        return NULL;
    }
    vv_random_blocks(f, seed_of(t), deviation_of(t), 0, at, bytes / f->block_bytes);
    memcpy(at + bytes, at, bytes);
    forget(s, p);
    *p = (struct vv_pattern){t->type, t->ne[0], row_bytes, rows, at, NULL};
    return p;
}

int vv_synthetic_begin(struct vv_synthetic *synthetic, const struct vv_gguf_tensor *tensor,
                       struct vv_made_up *made_up, struct vv_error *error) {
    const struct vv_format *f = vv_format(tensor->type);
    if (!f || f->arithmetic == VV_ARITHMETIC_NONE) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "the tensor \"%s\" has the type %s, of which no weights can be made up",
                       tensor->name, vv_type_name(tensor->type));
    }
    *made_up = (struct vv_made_up){.tensor = tensor, .format = f};
    if (f->arithmetic == VV_ARITHMETIC_FLOAT && tensor->bytes <= ANEW_MOST) {
        return VV_OK;
    }
    made_up->pattern = pattern_of(synthetic, f, tensor);
    return made_up->pattern ? VV_OK : vv_fail_memory(error, 2 * PIECE, tensor->name);
}

/* The row of the pattern that piece `index` begins with. */
static size_t first_row(const struct vv_made_up *m, uint64_t index) {
    return (size_t)(vv_random_word(seed_of(m->tensor), index) % m->pattern->rows);
}

void vv_made_up_bytes(const struct vv_made_up *made_up, uint64_t offset, size_t bytes, void *to) {
    const struct vv_pattern *p = made_up->pattern;
    if (!p) {
        const size_t block = made_up->format->block_bytes;
        vv_random_blocks(made_up->format, seed_of(made_up->tensor), deviation_of(made_up->tensor),
                         offset / block, to, bytes / block);
        return;
    }
    const size_t piece = p->rows * p->row_bytes;
    for (uint8_t *at = to; bytes > 0;) {
        size_t within = (size_t)(offset % piece);
        size_t first = first_row(made_up, offset / piece) * p->row_bytes + within;
        size_t n = piece - within < bytes ? piece - within : bytes;
        memcpy(at, p->at + first, n);
        at += n;
        offset += n;
        bytes -= n;
    }
}

/* ---- on a device ---- */

/* Brings the pattern there, `bytes` in the device's order. */
static int bring(struct vv_device *device, struct vv_pattern *p, const struct vv_weight *rows,
                 size_t bytes, struct vv_error *error) {
    uint8_t *packed = device->layout ? malloc(bytes) : NULL;
    if (!device->layout || packed) {
        p->on_device = device->calls->allocate(device, bytes);
    }
    if (p->on_device && packed) {
        device->layout->pack(rows, packed);
    }
    if (p->on_device) {
        device->calls->write(device, p->on_device, packed ? packed : p->at, bytes);
    }
    free(packed);
    return p->on_device ? VV_OK : vv_fail_memory(error, bytes, "made-up weights");
}

int vv_made_up_place(struct vv_synthetic *synthetic, const struct vv_made_up *made_up,
                     const struct vv_weight *weight, void *to, struct vv_error *error) {
    struct vv_device *device = synthetic->device;
    struct vv_pattern *p = made_up->pattern;
    struct vv_weight both = *weight;
    both.slices = 1;
    both.rows = 2 * p->rows;
    both.data = p->at;
    size_t bytes = device->layout ? device->layout->bytes(&both) : both.rows * p->row_bytes;
    int code = p->on_device ? VV_OK : bring(device, p, &both, bytes, error);
    size_t row_bytes = bytes / both.rows, rows = weight->rows * weight->slices;
    for (size_t row = 0; code == VV_OK && row < rows; row += p->rows) {
        const uint8_t *from = p->on_device + first_row(made_up, row / p->rows) * row_bytes;
        size_t n = rows - row < p->rows ? rows - row : p->rows;
        device->calls->copy(device, (uint8_t *)to + row * row_bytes, row_bytes, from, row_bytes,
                            row_bytes, n);
    }
    vv_device_settle(device);
    return code;
}
