#include "memory/synthetic.h"
#include "quant/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERNS = 24, PIECE = 1 << 20, ANEW_MOST = 64 << 20 };

/* Blocks of one format and deviation, twice in a row, so that a piece may begin anywhere. */
struct pattern {
    int type;
    uint64_t width;
    uint8_t *at;   /* [2][blocks] */
    size_t blocks; /* of a piece */
};

struct vv_synthetic {
    struct pattern patterns[PATTERNS];
    size_t next; /* the one that makes room, modulo their number */
};

struct vv_synthetic *vv_synthetic_new(void) {
    return calloc(1, sizeof(struct vv_synthetic));
}

void vv_synthetic_free(struct vv_synthetic *synthetic) {
    for (size_t i = 0; synthetic && i < PATTERNS; i++) {
        free(synthetic->patterns[i].at);
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

/* Where that of a format and width is, or may be. */
static struct pattern *slot_of(struct vv_synthetic *s, const struct vv_gguf_tensor *t) {
    for (size_t i = 0; i < PATTERNS; i++) {
        struct pattern *p = &s->patterns[i];
        if (p->at && p->type == t->type && p->width == t->ne[0]) {
            return p;
        }
    }
    return &s->patterns[s->next++ % PATTERNS];
}

/* With as many blocks as the tensor has, up to a piece. */
static const struct pattern *pattern_of(struct vv_synthetic *s, const struct vv_format *f,
                                        const struct vv_gguf_tensor *t) {
    struct pattern *p = slot_of(s, t);
    uint64_t all = t->bytes / f->block_bytes;
    size_t most = PIECE / f->block_bytes, blocks = all < most ? (size_t)all : most;
    if (p->at && p->type == t->type && p->width == t->ne[0] && p->blocks >= blocks) {
        return p;
    }
    size_t bytes = blocks * f->block_bytes;
    uint8_t *at = malloc(2 * bytes);
    if (!at) {
        return NULL;
    }
    vv_random_blocks(f, seed_of(t), deviation_of(t), 0, at, blocks);
    memcpy(at + bytes, at, bytes);
    free(p->at);
    *p = (struct pattern){t->type, t->ne[0], at, blocks};
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
    const struct pattern *p = pattern_of(synthetic, f, tensor);
    if (!p) {
        return vv_fail_memory(error, 2 * PIECE, tensor->name);
    }
    made_up->pattern = p->at;
    made_up->blocks = p->blocks;
    return VV_OK;
}

void vv_made_up_bytes(const struct vv_made_up *made_up, uint64_t offset, size_t bytes, void *to) {
    const size_t block = made_up->format->block_bytes, piece = made_up->blocks * block;
    uint64_t seed = seed_of(made_up->tensor);
    if (!made_up->pattern) {
        vv_random_blocks(made_up->format, seed, deviation_of(made_up->tensor), offset / block, to,
                         bytes / block);
        return;
    }
    for (uint8_t *at = to; bytes > 0;) {
        uint64_t i = offset / piece;
        size_t within = (size_t)(offset % piece);
        size_t first = (size_t)(vv_random_word(seed, i) % made_up->blocks) * block + within;
        size_t n = piece - within < bytes ? piece - within : bytes;
        memcpy(at, made_up->pattern + first, n);
        at += n;
        offset += n;
        bytes -= n;
    }
}
