/* Numbers as Python's: bool is an integer, integers and reals compare exactly. */
#pragma once
#include "text/jinja/value.h"

/* An order of bools, integers (big ones too) and reals; all NaN are equal, and behind all others.
 */
int vv_number_order(const struct vv_value *a, const struct vv_value *b);

enum vv_operator {
    VV_ADD,
    VV_SUBTRACT,
    VV_MULTIPLY,
    VV_DIVIDE,       /* a real, always */
    VV_FLOOR_DIVIDE, /* rounded down */
    VV_REMAINDER,    /* with the sign of the divisor */
    VV_POWER,        /* of integers, the exponent 0 or more */
};

/* Whether a value can be computed with: bool, integer, real. */
bool vv_value_is_number(const struct vv_value *value);

/* A bool's or integer's value; false if it is neither. */
bool vv_value_as_integer(const struct vv_value *value, int64_t *out);
double vv_value_as_real(const struct vv_value *value); /* of a number */

/* Two numbers; the result comes from the data if one of them does. VV_ERROR_INVALID: division by
 * zero, an integer beyond 64 bits. */
int vv_compute(enum vv_operator op, const struct vv_value *a, const struct vv_value *b,
               struct vv_value *out, struct vv_error *error);
