#include "quant/split.h"
#include "gguf/types.h"

#include <string.h>

enum {
#define BYTES(name, id, values, bytes) BLOCK_BYTES_##name = bytes,
    VV_TYPES(BYTES)
#undef BYTES
};

static size_t bytes(const struct vv_weight *w) {
    return w->slices * w->rows * vv_split_row_bytes(w->row_bytes);
}

/* Inlined for each format, so that copies are of constant sizes. */
static inline __attribute__((always_inline)) void split_row(const uint8_t *from, size_t blocks,
                                                            size_t block_bytes, size_t codes_from,
                                                            size_t codes, uint8_t *to) {
    size_t header = block_bytes - codes, rest = header - codes_from;
    uint8_t *headers = to + blocks * codes;
    for (size_t b = 0; b < blocks; b++, from += block_bytes, headers += header) {
        memcpy(to + b * codes, from + codes_from, codes);
        memcpy(headers, from, codes_from);
        memcpy(headers + codes_from, from + codes_from + codes, rest);
    }
}

static void pack_row(int type, const uint8_t *from, size_t bytes, uint8_t *to) {
    switch (type) {
#define FORM(name, from_, bytes_)                                                                  \
    case VV_TYPE_##name: {                                                                         \
        const size_t block = BLOCK_BYTES_##name;                                                   \
        split_row(from, bytes / block, block, from_, bytes_, to);                                  \
        return;                                                                                    \
    }
        VV_SPLIT_FORMATS(FORM)
#undef FORM
    default:
        memcpy(to, from, bytes);
    }
}

static void pack(const struct vv_weight *w, void *to) {
    size_t stride = vv_split_row_bytes(w->row_bytes);
    for (size_t row = 0; row < w->slices * w->rows; row++) {
        uint8_t *at = (uint8_t *)to + row * stride;
        pack_row(w->type, (const uint8_t *)w->data + row * w->row_bytes, w->row_bytes, at);
        memset(at + w->row_bytes, 0, stride - w->row_bytes);
    }
}

const struct vv_layout vv_layout_split = {"split", bytes, pack};
