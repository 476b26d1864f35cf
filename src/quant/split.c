#include "quant/split.h"
#include "gguf/types.h"

#include <string.h>

/* A block format's blocks as they are split. */
struct form {
    size_t bytes, codes_from, codes; /* a block's, all bytes */
};

static struct form form_of(int type) {
    switch (type) {
#define FORM(name, from, bytes)                                                                    \
    case VV_TYPE_##name:                                                                           \
        return (struct form){vv_type_info(type)->block_bytes, from, bytes};
        VV_SPLIT_FORMATS(FORM)
#undef FORM
    default:
        return (struct form){0, 0, 0};
    }
}

static size_t bytes(const struct vv_weight *w) {
    return w->slices * w->rows * vv_split_row_bytes(w->row_bytes);
}

static void split_row(const struct form *f, const uint8_t *from, size_t blocks, uint8_t *to) {
    size_t header = f->bytes - f->codes, rest = header - f->codes_from;
    uint8_t *headers = to + blocks * f->codes;
    for (size_t b = 0; b < blocks; b++, from += f->bytes, headers += header) {
        memcpy(to + b * f->codes, from + f->codes_from, f->codes);
        memcpy(headers, from, f->codes_from);
        memcpy(headers + f->codes_from, from + f->codes_from + f->codes, rest);
    }
}

static void pack(const struct vv_weight *w, void *to) {
    struct form f = form_of(w->type);
    size_t stride = vv_split_row_bytes(w->row_bytes);
    for (size_t row = 0; row < w->slices * w->rows; row++) {
        const uint8_t *from = w->data + row * w->row_bytes;
        uint8_t *at = (uint8_t *)to + row * stride;
        if (f.bytes) {
            split_row(&f, from, w->row_bytes / f.bytes, at);
        } else {
            memcpy(at, from, w->row_bytes);
        }
        memset(at + w->row_bytes, 0, stride - w->row_bytes);
    }
}

const struct vv_layout vv_layout_split = {"split", bytes, pack};
