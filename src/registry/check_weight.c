/* Random weights: the one part of the harness that knows block formats. */
#include "base/half.h"
#include "quant/format.h"
#include "registry/check_internal.h"

#include <math.h>
#include <string.h>

static bool is_sane_scale(float scale) {
    return fabsf(scale) >= 0x1p-14f && fabsf(scale) <= 0x1p+8f;
}

/* Whether the block's scales are of the size that real weights have. */
static bool is_sane(const struct vv_format *f, const uint8_t *block) {
    struct vv_segment s;
    size_t values = f->block_values < 128 ? f->block_values : 128;
    f->unpack(block, f->block_bytes, 0, values, &s);
    if (f->step == 0) {
        return is_sane_scale(s.d) && (!f->has_offset || is_sane_scale(s.dmin));
    }
    for (size_t i = 0; i < values / f->step; i++) {
        if (!is_sane_scale(s.step_d[i]) || (f->has_offset && !is_sane_scale(s.step_m[i]))) {
            return false;
        }
    }
    return true;
}

static void random_bytes(struct vv_check *check, uint8_t *to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t v = vv_check_random(check);
        memcpy(to + at, &v, bytes - at < sizeof v ? bytes - at : sizeof v);
    }
}

/* Every field random, until the scales are sane. */
static void random_block(struct vv_check *check, const struct vv_format *f, uint8_t *block) {
    float x = vv_check_normal(check);
    switch (f->type) {
    case VV_TYPE_F32:
        memcpy(block, &x, sizeof x);
        return;
    case VV_TYPE_F16:
        memcpy(block, &(uint16_t){vv_to_f16(x)}, sizeof(uint16_t));
        return;
    case VV_TYPE_BF16:
        memcpy(block, &(uint16_t){vv_to_bf16(x)}, sizeof(uint16_t));
        return;
    default:
        do {
            random_bytes(check, block, f->block_bytes);
        } while (!is_sane(f, block));
    }
}

struct vv_weight *vv_check_weight(struct vv_check *check, int type, size_t width, size_t rows,
                                  size_t slices) {
    const struct vv_format *f = vv_format(type);
    size_t row_bytes = width / f->block_values * f->block_bytes, bytes = slices * rows * row_bytes;
    struct vv_weight *w = vv_check_memory(check, sizeof *w);
    uint8_t *data = vv_check_memory(check, bytes);
    for (size_t at = 0; at < bytes; at += f->block_bytes) {
        random_block(check, f, data + at);
    }
    *w = (struct vv_weight){"random", type, width, rows, slices, row_bytes, data, NULL, NULL};
    return w;
}
