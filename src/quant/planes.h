/*
 * Activations as products take them: the rows themselves and the integers that quantize_rows makes
 * of them (docs/arithmetic.md, section 1). Coarse planes have one scale for each 128 values and
 * serve super-block formats, fine ones one for each 32 and serve block formats; float formats, and
 * the validation mode, take x.
 *
 * Rows lie one after another without gaps. A plane that nobody asked for is NULL.
 */
#pragma once
#include "base/both.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VV_COARSE_UNIT = 128, VV_FINE_UNIT = 32, VV_SUM_UNIT = 16 };

/*
 * One segment of one row for one kind of formats: all that a product takes of it, in three cache
 * lines (quant/panel). What a set lacks, and what is beyond the row's end, is zero.
 */
struct vv_panel_row {
    alignas(64) int8_t q[128];
    float scale[4];   /* fine: of each 32 values; coarse: of all in [0] */
    int32_t start[4]; /* fine: -128 times the sum of each 32 values */
    float sum[4];     /* fine: that sum */
    int16_t sum16[8]; /* sums of each 16 values */
};

struct vv_planes {
    size_t width;          /* values a row; a multiple of 32 where there are planes */
    const float *x;        /* [rows][width] */
    int8_t *coarse_q;      /* [rows][width]: -127 .. 127 */
    float *coarse_scale;   /* [rows][ceil(width / 128)] */
    int16_t *coarse_sum16; /* [rows][width / 16]: sums of q */
    int8_t *fine_q;        /* [rows][width] */
    float *fine_scale;     /* [rows][width / 32] */
    int16_t *fine_sum16;   /* [rows][width / 16] */
    /* The same segment by segment, [segments][rows of the window], for kernels that take several
     * rows at once; or NULL. */
    struct vv_panel_row *coarse_panel, *fine_panel;
    bool float_only; /* validation mode: weights are decoded, planes are not looked at */
};

/* Scales of a row of `width` values with one for each `unit`. */
VV_BOTH size_t vv_plane_scales(size_t width, size_t unit) {
    return (width + unit - 1) / unit;
}

/* A segment of a row as panels take it, from the planes of its set. */
VV_BOTH void vv_coarse_panel_row(const struct vv_planes *p, size_t row, size_t segment,
                                 struct vv_panel_row *to) {
    size_t at = row * p->width + 128 * segment, left = p->width - 128 * segment;
    size_t values = left < 128 ? left : 128;
    memset(to, 0, sizeof *to);
    memcpy(to->q, p->coarse_q + at, values);
    memcpy(to->sum16, p->coarse_sum16 + at / 16, values / 16 * sizeof *to->sum16);
    to->scale[0] = p->coarse_scale[row * vv_plane_scales(p->width, VV_COARSE_UNIT) + segment];
}

VV_BOTH void vv_fine_panel_row(const struct vv_planes *p, size_t row, size_t segment,
                               struct vv_panel_row *to) {
    size_t at = row * p->width + 128 * segment, left = p->width - 128 * segment;
    size_t blocks = left < 128 ? left / 32 : 4;
    memset(to, 0, sizeof *to);
    memcpy(to->q, p->fine_q + at, 32 * blocks);
    memcpy(to->sum16, p->fine_sum16 + at / 16, 2 * blocks * sizeof *to->sum16);
    for (size_t b = 0; b < blocks; b++) {
        int32_t sum = to->sum16[2 * b] + to->sum16[2 * b + 1];
        to->scale[b] = p->fine_scale[at / 32 + b];
        to->start[b] = -128 * sum;
        to->sum[b] = (float)sum;
    }
}
