#include "quant/format.h"
#include "quant/encode.h"
#include "quant/list.h"

#include <math.h>

/* ---- what the table points to, made of each format's header ---- */

#define UNPACK(TYPE, name, ...)                                                                    \
    static void unpack_##name(const void *row, size_t stride, size_t segment, size_t values,       \
                              struct vv_segment *out) {                                            \
        vv_unpack_segment(vv_unpack_##name, VV_BLOCK_VALUES_##TYPE, row, stride, segment, values,  \
                          out);                                                                    \
    }
VV_SUPER_FORMATS(UNPACK)
VV_BLOCK_FORMATS(UNPACK)
VV_DECODED_FORMATS(UNPACK)

#define DECODE_SUPER(TYPE, name, offset)                                                           \
    static void decode_##name(const void *blocks, float *out, size_t values) {                     \
        struct vv_segment s;                                                                       \
        for (size_t at = 0; at < values; at += 128) {                                              \
            unpack_##name(blocks, VV_BLOCK_BYTES_##TYPE, at / 128, 128, &s);                       \
            vv_decode_super(&s, offset, out + at);                                                 \
        }                                                                                          \
    }
VV_SUPER_FORMATS(DECODE_SUPER)

#define DECODE_BLOCK(TYPE, name, offset, step)                                                     \
    static void decode_##name(const void *blocks, float *out, size_t values) {                     \
        struct vv_segment s;                                                                       \
        for (size_t at = 0; at < values; at += 128) {                                              \
            size_t n = values - at < 128 ? values - at : 128;                                      \
            unpack_##name(blocks, VV_BLOCK_BYTES_##TYPE, at / 128, n, &s);                         \
            vv_decode_block(&s, offset, step, n, out + at);                                        \
        }                                                                                          \
    }
VV_BLOCK_FORMATS(DECODE_BLOCK)
VV_DECODED_FORMATS(DECODE_BLOCK)

#define DECODE_FLOAT(TYPE, name)                                                                   \
    static void decode_##name(const void *blocks, float *out, size_t values) {                     \
        vv_decode_##name(blocks, out, values);                                                     \
    }
VV_FLOAT_FORMATS(DECODE_FLOAT)

/* ---- the table ---- */

#define SIZES(TYPE) VV_TYPE_##TYPE, #TYPE, VV_BLOCK_VALUES_##TYPE, VV_BLOCK_BYTES_##TYPE
#define CALLS(name) .decode = decode_##name, .unpack = unpack_##name
#define FLOAT(TYPE, name) {SIZES(TYPE), VV_ARITHMETIC_FLOAT, false, 0, .decode = decode_##name},
#define SUPER(TYPE, name, offset) {SIZES(TYPE), VV_ARITHMETIC_SUPER, offset, 0, CALLS(name)},
#define BLOCK(TYPE, name, offset, step)                                                            \
    {SIZES(TYPE), VV_ARITHMETIC_BLOCK, offset, step, CALLS(name)},
#define DECODED(TYPE, name, offset, step)                                                          \
    {SIZES(TYPE), VV_ARITHMETIC_NONE, offset, step, CALLS(name)},

#define PLACE(TYPE, ...) PLACE_##TYPE,
#define ENCODED(TYPE, name, most)                                                                  \
    [PLACE_##TYPE].encode = vv_encode_##name, [PLACE_##TYPE].largest = (most),

#define ALL(X, Y, Z, U)                                                                            \
    VV_FLOAT_FORMATS(X) VV_BLOCK_FORMATS(Y) VV_SUPER_FORMATS(Z) VV_DECODED_FORMATS(U)

enum { ALL(PLACE, PLACE, PLACE, PLACE) FORMATS };

static const struct vv_format formats[FORMATS] = {ALL(FLOAT, BLOCK, SUPER, DECODED)
                                                      VV_ENCODED_FORMATS(ENCODED)};

const struct vv_format *vv_format_at(size_t index) {
    return index < FORMATS ? &formats[index] : NULL;
}

const struct vv_format *vv_format(int type) {
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].type == type) {
            return &formats[i];
        }
    }
    return NULL;
}

/* ---- checking a file's contents ---- */

/* Both halves of a block have the same scales, and so the first one is enough. */
static bool block_is_finite(const struct vv_format *f, const uint8_t *block) {
    if (f->arithmetic == VV_ARITHMETIC_FLOAT) {
        float value;
        f->decode(block, &value, 1);
        return isfinite(value);
    }
    struct vv_segment s;
    size_t values = f->block_values < 128 ? f->block_values : 128;
    f->unpack(block, f->block_bytes, 0, values, &s);
    if (f->step == 0) {
        return isfinite(s.d) && (!f->has_offset || isfinite(s.dmin));
    }
    for (size_t i = 0; i < values / f->step; i++) {
        if (!isfinite(s.step_d[i]) || (f->has_offset && !isfinite(s.step_m[i]))) {
            return false;
        }
    }
    return true;
}

size_t vv_first_bad_block(const struct vv_format *format, const void *at, size_t blocks) {
    const uint8_t *block = at;
    for (size_t i = 0; i < blocks; i++, block += format->block_bytes) {
        if (!block_is_finite(format, block)) {
            return i;
        }
    }
    return blocks;
}

/* ---- checking what is to be encoded ---- */

size_t vv_first_unfit(const struct vv_format *format, const float *x, size_t values) {
    for (size_t i = 0; i < values; i++) {
        if (!(fabsf(x[i]) <= format->largest)) {
            return i;
        }
    }
    return values;
}
