/* Planes for the checks of operations that take them. */
#pragma once
#include "op/quantize_rows/contract.h"
#include "registry/check.h"

/* Prepared rows of x [rows][width] in memory of the check, made by the reference: `sets` of them
 * (VV_PLANES_…; x is always there). x must be in range. */
struct vv_planes vv_check_planes(struct vv_check *check, const float *x, size_t rows, size_t width,
                                 unsigned sets);

/* The same, as panels of both kinds too or not. */
struct vv_planes vv_check_planes_as(struct vv_check *check, const float *x, size_t rows,
                                    size_t width, unsigned sets, bool panels);

/* Makes the fine scales of one of `rows` rows infinite, so that all products with it are no
 * numbers. */
void vv_check_spoil_row(const struct vv_planes *planes, size_t rows, size_t row);
