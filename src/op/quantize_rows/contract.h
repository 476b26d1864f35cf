/*
 * quantize_rows: rows of activations to the integers that quantised weights meet
 * (docs/arithmetic.md, section 1). For each unit of 128 values (coarse planes) or 32 (fine planes),
 * counted from the row's start; the row's last coarse unit may be shorter:
 *
 *     amax  = max |x|
 *     amax < 2^-60:  scale = +0, every q = 0; else
 *     scale = amax / 127,  inv = 127 / amax                    one division each
 *     q     = rint(x * inv)                                    the product rounded first, ties to
 * even
 *
 * and sum16, the sums of q over 16 values. -127 <= q <= 127 without a clamp.
 *
 * An amax that isn't finite or is 2^80 or more: VV_ERROR_NOT_FINITE (planes are then undefined). A
 * unit of work is one segment of 128 values of one row.
 */
#pragma once
#include "quant/planes.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_quantize_rows {
    struct vv_planes planes; /* x in; of the planes those that aren't NULL out; a set is whole */
    struct vv_rows rows;
};

extern const struct vv_operation vv_quantize_rows;

/* Sets of planes; several together are one mask. */
enum { VV_PLANES_X = 1, VV_PLANES_COARSE = 2, VV_PLANES_FINE = 4 };

/* The set that a product with a weight of `type` reads. */
unsigned vv_planes_needed(const struct vv_planes *planes, int type);

/* Lists the buffers of `sets`, as read or as written; returns how many (`out` NULL: only count): at
 * most 9. For the `buffers` function of operations that take planes. */
size_t vv_planes_buffers(const struct vv_planes *planes, unsigned sets, size_t rows, bool written,
                         struct vv_buffer *out);
