/*
 * Products of a group of weight rows with rows of activations: what hand-written kernels offer to
 * the operations that read weights (gemv, experts). Sixteen rows are taken together because the
 * float part of the contract is then done for all of them in the lanes of one vector.
 */
#pragma once
#include "memory/weight.h"
#include "quant/planes.h"
#include <stdbool.h>

enum { VV_GROUP_ROWS = 16 };

/*
 * y[i * y_row + r] = weight row first + r of `slice` . activation row row[i], for r = 0 .. count -
 * 1 (count at most 16) and i = 0 .. rows - 1; `row` NULL: rows 0, 1, … The weight lies in the
 * file's order and is of a type that vv_group_dot_takes; its separate scale is not applied. The
 * results are vv_rows_dot's (quant/row_dot.h), bit for bit.
 */
void vv_group_dot_avx512vnni(const struct vv_weight *w, size_t slice, size_t first, size_t count,
                             const struct vv_planes *x, const int32_t *row, size_t rows, float *y,
                             size_t y_row);
bool vv_group_dot_takes(int type);
