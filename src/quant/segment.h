/*
 * One segment of a weight row, 128 values or fewer, as the integers and floats of the arithmetic
 * contract (docs/arithmetic.md, section 2). Everything known of a block format is how its blocks
 * become this; values and dot products follow from it alone.
 */
#pragma once
#include "base/half.h"
#include <stddef.h>
#include <stdint.h>

/* Kernels are built for several instruction sets out of these functions: none may be left as a
 * call that the linker could resolve to another set's copy. */
#define VV_INLINE static inline __attribute__((always_inline))

/* Sixteen words: arithmetic on them is element by element, on any machine (GCC and Clang). */
typedef int16_t vv_words16 __attribute__((vector_size(32)));

/*
 * Super-block formats: value i is d * scale[i / 16] * w[i] - dmin * min[i / 16]. d is the
 * contract's d' (the power of two is in it); sub-scales that cover 32 values stand twice. min and
 * dmin are set in formats with an offset alone.
 *
 * Block formats: value i is step_d[i / step] * w[i] + step_m[i / step], step being 16 for NVFP4 and
 * 32 for all others (a scale that covers more stands several times). step_m is set in formats with
 * an offset alone.
 *
 * w is wider than its values, -128 .. 127, so that pairs of products with an int8 can be summed by
 * the multiply-and-add of 16-bit integers, which all vector units have.
 */
struct vv_segment {
    union {
        int16_t w[128];
        vv_words16 group[8];
    };
    int16_t scale[8];
    int16_t min[8];
    float d, dmin;
    float step_d[8];
    float step_m[8];
};
