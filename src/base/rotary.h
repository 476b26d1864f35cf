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

/* Frequencies stretched to a longer context (YaRN; Peng et al. 2023). */
struct vv_yarn {
    double factor;   /* slow pairs turn so many times slower; 1 or more */
    double original; /* positions that the model was first trained on */
    double fast,
        slow; /* turns over those: pairs of at least `fast` keep their frequency, pairs of at
               * most `slow` are stretched in full, between them a ramp by the pair's number */
};

/*
 * Stretches turn [dims / 2], which vv_rotary_turn made of `base`. The ramp goes from pair low = the
 * last one that turns `fast` times or more (or 0) to high = the first one that turns `slow` times
 * or less (or dims - 1): with r = clamp((i - low) / max(high - low, 0.001), 0, 1), turn_i · ((1 -
 * r) + r / factor). Counting turns is what floor and ceil of the usual logarithms come to. Host
 * only.
 */
void vv_rotary_stretch(const struct vv_yarn *yarn, double base, unsigned dims, uint64_t *turn);
