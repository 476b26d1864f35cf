/*
 * Rotary frequencies as integers (docs/arithmetic.md, section 7). Pair i of `dims` rotated values
 * turns by base^(-2i / dims) radians a position. As a fraction of a full turn in units of 2^-64,
 * the phase at a position is one wrapping product, exact at any position, with equal bits
 * everywhere.
 */
#pragma once
#include <stdint.h>

/*
 * The integer nearest to base^(-2i / dims) / (2 pi) * 2^64. `dims` is even and positive,
 * i < dims / 2, and base is finite and at least 1 (the caller has checked the file). It is computed
 * to about 2^-95 of itself, so it is the nearest integer unless the true value lies within 2^-30 of
 * a half, and does not depend on the machine. Host only, once a frequency.
 */
uint64_t vv_rotary_turn(double base, unsigned i, unsigned dims);
