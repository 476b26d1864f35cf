/* Sorting by an order that may fail; stable, n log n in every case. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether item `a` must come before item `b`; returns VV_OK or an error, which ends the sorting. */
typedef int vv_sort_before(void *context, uint32_t a, uint32_t b, bool *before);

/* Fills `order` with 0 … count - 1, sorted. */
int vv_sort(uint32_t *order /* [count] */, uint32_t *work /* [count] */, size_t count,
            vv_sort_before *before, void *context);
