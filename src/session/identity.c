#include "session/identity.h"
#include "base/checksum.h"

#include <string.h>

static uint64_t geometry_of(const struct vv_gguf *file, const char *architecture) {
    uint64_t sum = vv_checksum(architecture, strlen(architecture), 0);
    size_t length = strlen(architecture), count = vv_gguf_entry_count(file);
    for (size_t i = 0; i < count; i++) {
        const struct vv_gguf_entry *e = vv_gguf_entry_at(file, i);
        if (e->key_length > length && memcmp(e->key, architecture, length) == 0 &&
            e->key[length] == '.') {
            sum = vv_checksum(e->key, e->key_length, sum);
            sum = vv_checksum(&e->type, sizeof e->type, sum);
            sum = vv_checksum(e->bytes, (size_t)e->size, sum);
        }
    }
    return sum;
}

/* Some bytes of a tensor: its first and last ones, and two pieces between that its name picks. */
static int sample(const struct vv_gguf *file, const struct vv_gguf_tensor *t, uint64_t *sum,
                  struct vv_error *error) {
    enum { PIECE = 256, PIECES = 4 };
    uint8_t piece[PIECE];
    size_t bytes = t->bytes < PIECE ? (size_t)t->bytes : PIECE;
    uint64_t last = t->bytes - bytes, draw = vv_checksum(t->name, strlen(t->name), 0);
    const uint64_t at[PIECES] = {0, last, draw % (last + 1), (draw >> 20) % (last + 1)};
    for (size_t i = 0; i < PIECES; i++) {
        int code = vv_gguf_read_tensor(file, t, at[i], bytes, piece, error);
        if (code != VV_OK) {
            return code;
        }
        *sum = vv_checksum(piece, bytes, *sum);
    }
    return VV_OK;
}

int vv_identify(const struct vv_gguf *file, const char *architecture, struct vv_identity *identity,
                struct vv_error *error) {
    *identity = (struct vv_identity){geometry_of(file, architecture), 0};
    size_t count = vv_gguf_tensor_count(file);
    for (size_t i = 0; i < count; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file, i);
        uint64_t *sum = &identity->weights;
        *sum = vv_checksum(t->name, strlen(t->name), *sum);
        *sum = vv_checksum(&t->type, sizeof t->type, *sum);
        *sum = vv_checksum(t->ne, sizeof t->ne, *sum);
        int code = sample(file, t, sum, error);
        if (code != VV_OK) {
            return code;
        }
    }
    return VV_OK;
}
