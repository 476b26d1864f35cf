/*
 * A double keeps 53 of the 64 bits wanted, so numbers here are unevaluated sums of two doubles
 * (Dekker 1971), which keep 106. Neither a logarithm nor an exponential is needed:
 * base^(-2i / dims) is the i-th power of a root, and a root is a Newton iteration.
 */
#include "base/rotary.h"

#include <math.h>

struct wide {
    double high, low; /* |low| is at most half a unit of high's last place */
};

/* a + b where |a| >= |b| or a = 0, exactly. */
static struct wide joined(double a, double b) {
    double sum = a + b;
    return (struct wide){sum, b - (sum - a)};
}

static struct wide product(struct wide a, struct wide b) {
    double high = a.high * b.high;
    return joined(high, fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high));
}

/* 1 - a, 0 <= a <= 1. */
static struct wide one_minus(struct wide a) {
    struct wide high = joined(1.0, -a.high);
    return joined(high.high, high.low - a.low);
}

/* a / b: the quotient of the high parts, and what that leaves. */
static struct wide quotient(struct wide a, struct wide b) {
    double first = a.high / b.high;
    struct wide back = product((struct wide){first, 0.0}, b);
    return joined(first, ((a.high - back.high) - back.low + a.low) / b.high);
}

static struct wide power(struct wide x, unsigned n) {
    struct wide result = {1.0, 0.0};
    for (; n > 0; n /= 2) {
        if (n & 1) {
            result = product(result, x);
        }
        x = product(x, x);
    }
    return result;
}

/*
 * The r in (0, 1] with r^n = 1 / base. Newton's step for r^n - 1 / base is
 * r (1 - (1 - 1 / (base r^n)) / n); from r = 1 it descends to the root, far from it by a factor e
 * of r^n a step, near it doubling the digits.
 */
static struct wide inverse_root(double base, unsigned n) {
    struct wide r = {1.0, 0.0}, one = {1.0, 0.0}, excess;
    do {
        excess = one_minus(quotient(one, product((struct wide){base, 0.0}, power(r, n))));
        r = product(r, one_minus(quotient(excess, (struct wide){(double)n, 0.0})));
    } while (excess.high > 0x1p-60);
    return r;
}

uint64_t vv_rotary_turn(double base, unsigned i, unsigned dims) {
    const struct wide radian = {0x1.45f306dc9c883p+61, -0x1.6b01ec5417056p+7}; /* 2^64 / (2 pi) */
    struct wide turn = product(power(inverse_root(base, dims / 2), i), radian);
    uint64_t whole = (uint64_t)turn.high; /* at most 2^61.4 */
    double rest = (turn.high - (double)whole) + turn.low;
    return whole + (uint64_t)(int64_t)floor(rest + 0.5);
}

/* Turns of pair i over the original context, i up to dims - 1: the base squared with twice the dims
 * gives the same frequencies, and has so many. */
static double turns(const struct vv_yarn *yarn, double base, unsigned i, unsigned dims) {
    return (double)vv_rotary_turn(base * base, i, 2 * dims) * 0x1p-64 * yarn->original;
}

void vv_rotary_stretch(const struct vv_yarn *yarn, double base, unsigned dims, uint64_t *turn) {
    unsigned low = 0, high = 0;
    while (low + 1 < dims && turns(yarn, base, low + 1, dims) >= yarn->fast) {
        low++;
    }
    while (high + 1 < dims && turns(yarn, base, high, dims) > yarn->slow) {
        high++;
    }
    double span = high > low ? (double)(high - low) : 0.001;
    for (unsigned i = 0; i < dims / 2; i++) {
        double ramp = i > low ? fmin((double)(i - low) / span, 1.0) : 0.0;
        double slowed = (double)turn[i] * ((1.0 - ramp) + ramp / yarn->factor);
        turn[i] = ramp > 0.0 ? (uint64_t)(slowed + 0.5) : turn[i];
    }
}
