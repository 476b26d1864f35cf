#include "text/jinja/arithmetic.h"

#include "text/number.h"

#include <math.h>
#include <string.h>

bool vv_value_is_number(const struct vv_value *value) {
    return value->type == VV_VALUE_BOOL || value->type == VV_VALUE_INTEGER ||
           value->type == VV_VALUE_REAL;
}

bool vv_value_as_integer(const struct vv_value *value, int64_t *out) {
    *out = value->type == VV_VALUE_BOOL      ? value->of.truth
           : value->type == VV_VALUE_INTEGER ? value->of.integer
                                             : 0;
    return value->type == VV_VALUE_BOOL || value->type == VV_VALUE_INTEGER;
}

double vv_value_as_real(const struct vv_value *value) {
    int64_t integer;
    return vv_value_as_integer(value, &integer) ? (double)integer : value->of.real;
}

/* ---- Order ---- */

static int order_reals(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    return (a > b) - (a < b);
}

/* Exact: (double)a may be rounded, so beyond 2^53 the real, which is whole there, is made one. */
static int order_mixed(int64_t a, double b) {
    if (isnan(b) || b >= 0x1p63 || b < -0x1p63) {
        return b < 0 ? 1 : -1;
    }
    double floor_b = floor(b);
    int64_t whole = (int64_t)floor_b;
    return a != whole ? (a > whole) - (a < whole) : -(b > floor_b);
}

static int order_digits(struct vv_text a, struct vv_text b) {
    bool negative = a.at[0] == '-';
    if (negative != (b.at[0] == '-')) {
        return negative ? -1 : 1;
    }
    int order =
        a.length != b.length ? (a.length > b.length) - (a.length < b.length) : vv_text_order(a, b);
    return negative ? -order : order;
}

/* A big integer against any number. */
static int order_big(const struct vv_value *big, const struct vv_value *other) {
    struct vv_text digits = vv_marked_text(big->of.text);
    if (other->type == VV_VALUE_BIG) {
        return order_digits(digits, vv_marked_text(other->of.text));
    }
    if (other->type == VV_VALUE_REAL) {
        double value = 0;
        vv_number_read(digits.at, digits.length, &value);
        return order_reals(value, other->of.real);
    }
    return digits.at[0] == '-' ? -1 : 1;
}

int vv_number_order(const struct vv_value *a, const struct vv_value *b) {
    int64_t i, k;
    if (a->type == VV_VALUE_BIG) {
        return order_big(a, b);
    }
    if (b->type == VV_VALUE_BIG) {
        return -order_big(b, a);
    }
    bool whole_a = vv_value_as_integer(a, &i), whole_b = vv_value_as_integer(b, &k);
    if (whole_a && whole_b) {
        return (i > k) - (i < k);
    }
    return whole_a   ? order_mixed(i, b->of.real)
           : whole_b ? -order_mixed(k, a->of.real)
                     : order_reals(a->of.real, b->of.real);
}

/* ---- Computing ---- */

static int fail_zero(struct vv_error *error) {
    return vv_fail(error, VV_ERROR_INVALID, "a number is divided by zero");
}

static int fail_range(struct vv_error *error) {
    return vv_fail(error, VV_ERROR_INVALID, "an integer would need more than 64 bits");
}

/* a^n by squaring. */
static bool power_overflows(int64_t a, int64_t n, int64_t *out) {
    bool over = false;
    for (*out = 1; n > 0 && !over; n /= 2) {
        over = n % 2 && __builtin_mul_overflow(*out, a, out);
        over = over || (n > 1 && __builtin_mul_overflow(a, a, &a));
    }
    return over;
}

static int floor_integers(enum vv_operator op, int64_t a, int64_t b, int64_t *out,
                          struct vv_error *error) {
    if (b == 0) {
        return fail_zero(error);
    }
    if (a == INT64_MIN && b == -1) {
        *out = 0;
        return op == VV_REMAINDER ? VV_OK : fail_range(error);
    }
    int64_t quotient = a / b, rest = a % b;
    bool lower = rest != 0 && (rest < 0) != (b < 0);
    *out = op == VV_REMAINDER ? (lower ? rest + b : rest) : quotient - lower;
    return VV_OK;
}

static int compute_integers(enum vv_operator op, int64_t a, int64_t b, int64_t *out,
                            struct vv_error *error) {
    bool over;
    switch (op) {
    case VV_ADD:
        over = __builtin_add_overflow(a, b, out);
        break;
    case VV_SUBTRACT:
        over = __builtin_sub_overflow(a, b, out);
        break;
    case VV_MULTIPLY:
        over = __builtin_mul_overflow(a, b, out);
        break;
    case VV_POWER:
        over = power_overflows(a, b, out);
        break;
    default:
        return floor_integers(op, a, b, out, error);
    }
    return over ? fail_range(error) : VV_OK;
}

/* Quotient and remainder of reals, the remainder with the sign of `b` and exact. */
static double floor_reals(enum vv_operator op, double a, double b) {
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
    }
    if (op == VV_REMAINDER) {
        return rest != 0 ? rest : copysign(0, b);
    }
    double whole = floor(quotient);
    whole += quotient - whole > 0.5; /* the division above was rounded */
    return quotient != 0 ? whole : copysign(0, a / b);
}

static int compute_reals(enum vv_operator op, double a, double b, double *out,
                         struct vv_error *error) {
    switch (op) {
    case VV_ADD:
        *out = a + b;
        return VV_OK;
    case VV_SUBTRACT:
        *out = a - b;
        return VV_OK;
    case VV_MULTIPLY:
        *out = a * b;
        return VV_OK;
    case VV_POWER:
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "'**' is there for integers alone, with an exponent of 0 or more");
    default:
        break;
    }
    if (b == 0) {
        return fail_zero(error);
    }
    *out = op == VV_DIVIDE ? a / b : floor_reals(op, a, b);
    return VV_OK;
}

int vv_compute(enum vv_operator op, const struct vv_value *a, const struct vv_value *b,
               struct vv_value *out, struct vv_error *error) {
    int64_t i, k;
    bool data = a->data || b->data;
    bool whole_a = vv_value_as_integer(a, &i), whole_b = vv_value_as_integer(b, &k);
    if (whole_a && whole_b && op != VV_DIVIDE && (op != VV_POWER || k >= 0)) {
        *out = vv_value_integer(0, data);
        return compute_integers(op, i, k, &out->of.integer, error);
    }
    *out = vv_value_real(0, data);
    return compute_reals(op, vv_value_as_real(a), vv_value_as_real(b), &out->of.real, error);
}
