/*
 * Activations as products take them: the rows themselves and the integers that quantize_rows makes
 * of them (docs/arithmetic.md, section 1). Coarse planes have one scale for each 128 values and
 * serve super-block formats, fine ones one for each 32 and serve block formats; float formats, and
 * the validation mode, take x.
 *
 * Rows lie one after another without gaps. A plane that nobody asked for is NULL.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VV_COARSE_UNIT = 128, VV_FINE_UNIT = 32, VV_SUM_UNIT = 16 };

struct vv_planes {
    size_t width;          /* values a row; a multiple of 32 where there are planes */
    const float *x;        /* [rows][width] */
    int8_t *coarse_q;      /* [rows][width]: -127 .. 127 */
    float *coarse_scale;   /* [rows][ceil(width / 128)] */
    int16_t *coarse_sum16; /* [rows][width / 16]: sums of q */
    int8_t *fine_q;        /* [rows][width] */
    float *fine_scale;     /* [rows][width / 32] */
    int16_t *fine_sum16;   /* [rows][width / 16] */
    bool float_only;       /* validation mode: weights are decoded, planes are not looked at */
};

/* Scales of a row of `width` values with one for each `unit`. */
static inline size_t vv_plane_scales(size_t width, size_t unit) {
    return (width + unit - 1) / unit;
}
