/* How a model file declares the parts of its state: one walk declares and numbers them. */
#pragma once
#include "base/error.h"
#include "memory/state.h"

#include <stdbool.h>

struct vv_parts {
    struct vv_state_part *parts; /* NULL: only count */
    size_t count;
};

/* Adds a part under a printf name; returns its number. */
size_t vv_declare(struct vv_parts *d, struct vv_state_part part, const char *name, ...)
    VV_PRINTF(3, 4);

/* One entry of `width` floats. */
struct vv_state_part vv_fixed_part(size_t width);

/* The last `history` entries by position, beside those of a window. */
struct vv_state_part vv_ring_part(int type, size_t width, size_t history);

/* An entry for every `every` tokens. */
struct vv_state_part vv_rows_part(int type, size_t width, uint32_t every);

/* The same part; a draft block's rows count one position less: each pairs with the token that
 * follows it. */
struct vv_state_part vv_lagging_part(struct vv_state_part part, bool draft);
