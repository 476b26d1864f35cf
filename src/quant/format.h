/*
 * The table of block formats: what each one's blocks hold, their values, and their integers.
 * src/quant/list.h is the list that the table is made from; src/quant/NAME.h has each layout,
 * src/quant/NAME.c its encoder.
 */
#pragma once
#include "gguf/types.h"
#include "quant/segment.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a weight meets activations (docs/arithmetic.md, sections 2 and 4). */
enum vv_arithmetic {
    VV_ARITHMETIC_FLOAT, /* float dot with the rows themselves: F32, F16, BF16 */
    VV_ARITHMETIC_SUPER, /* integers with the coarse planes */
    VV_ARITHMETIC_BLOCK, /* integers with the fine planes */
    VV_ARITHMETIC_NONE,  /* decoded only, never a weight: Q8_1, Q8_K */
};

struct vv_format {
    int type;              /* VV_TYPE_… */
    const char *name;      /* "Q4_K" */
    uint32_t block_values; /* values a block */
    uint32_t block_bytes;
    enum vv_arithmetic arithmetic;
    bool has_offset; /* min and dmin, or step_m */
    uint32_t step;   /* values a float scale of a block format: 16 or 32; else 0 */

    /* Values of consecutive blocks, bit for bit those that ggml decodes (`values`: a multiple of
     * block_values). */
    void (*decode)(const void *blocks, float *out /* [values] */, size_t values);

    /* Segment `segment` of a row whose blocks lie `stride` bytes apart (block_bytes in a file);
     * `values` of it: 128, fewer (a multiple of block_values) at the row's end. NULL for float
     * formats. */
    void (*unpack)(const void *row, size_t stride, size_t segment, size_t values,
                   struct vv_segment *out);

    /* Consecutive blocks for values (a multiple of block_values) that vv_first_unfit lets pass. The
     * same bytes on every machine. NULL if there is no encoder. */
    void (*encode)(const float *x /* [values] */, void *blocks, size_t values);
    float largest; /* magnitude that a block can hold, if there is an encoder */
};

/* The format of a type, or NULL if its values are not known here (integers, F64, unknown ids). */
const struct vv_format *vv_format(int type);

/* All formats in the order of the list: index 0, 1, … until NULL. */
const struct vv_format *vv_format_at(size_t index);

/*
 * The first of `blocks` consecutive blocks whose scale, offset or, in a float format, value is
 * infinite or NaN, which makes a file unusable; `blocks` if there is none.
 */
size_t vv_first_bad_block(const struct vv_format *format, const void *at, size_t blocks);

/* The first value that `format` cannot encode: NaN, or larger than `largest` in magnitude; `values`
 * if there is none. */
size_t vv_first_unfit(const struct vv_format *format, const float *x /* [values] */, size_t values);
