/*
 * What the encoders share: groups of 16 or 32 values become levels (what codes stand for) times a
 * scale, plus an offset in some formats, so that the sum of squared errors is small.
 *
 * For a given scale every value takes its nearest level, which is the best choice of levels for it;
 * for given levels the best scale is a quotient of sums, and with an offset the solution of two
 * equations (least squares). So some scales are tried, the best is improved by turns, and what can
 * be stored (halves, integer sub-scales) is chosen by the error that it really leaves.
 *
 * All of it is + - * / of floats in a fixed order: the same bits on every machine. Values must be
 * finite and no larger than the format's `largest` (quant/format.h).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not fmaxf and fminf, which may take either of +0 and -0: a sign in the file would depend on the
 * compiler. */
static inline float vv_larger(float a, float b) {
    return b > a ? b : a;
}
static inline float vv_within(float x, float least, float most) {
    return x < least ? least : x > most ? most : x;
}

enum { VV_GROUP_MOST = 32, VV_GROUPS_MOST = 16, VV_LEVELS_MOST = 16, VV_SUPER_VALUES = 256 };

/* Levels in ascending order; a code is a level's place in it. */
struct vv_levels {
    float low, high; /* all integers from low to high, if there are no gaps */
    int gaps;        /* between the levels of a table, else 0 */
    float middle[VV_LEVELS_MOST - 1], gap[VV_LEVELS_MOST - 1];
};

#define VV_INTEGERS(first, last)                                                                   \
    { .low = (first), .high = (last) }
struct vv_levels vv_levels_of_table(const int8_t *table /* [count] */, int count);

/* The scales that are tried: those that bring the largest magnitude of a group to the magnitudes
 * `from` … `to`, in equal steps, as a negative number; `both`: as a positive one too. */
struct vv_trials {
    float from, to;
    int steps; /* 2 or more */
    bool both;
};

/* The ranges that are tried for levels with an offset: the group's own, each end of it moved
 * inwards by `from` … `to` (negative: outwards) times its width, in equal steps. */
struct vv_shrinking {
    float from, to;
    int steps; /* 2 or more: as many squared are tried */
};

/* Sums over a group of the levels q that are nearest to (x - offset) / scale, and of what they
 * leave, r = x - offset - scale * q. */
struct vv_sums {
    float q, qq, r, rq, rr;
};
struct vv_sums vv_fit_sums(const struct vv_levels *levels, const float *x /* [n] */, size_t n,
                           float scale, float offset);

/* Codes of these levels; n is 16 or 32 everywhere. */
void vv_fit_codes(const struct vv_levels *levels, const float *x /* [n] */, size_t n, float scale,
                  float offset, uint8_t *code /* [n] */);

/* The best scale found; 0 if the values are too small for any half-precision scale. */
float vv_fit_scale(const struct vv_levels *levels, const struct vv_trials *trials,
                   const float *x /* [n] */, size_t n);

/* The best scale and offset (`highest` or less) found, for levels from 0 up. */
struct vv_line {
    float scale, offset;
};
struct vv_line vv_fit_line(const struct vv_levels *levels, const struct vv_shrinking *shrinking,
                           const float *x /* [n] */, size_t n, float highest);

/* a x + b y = u, b x + c y = v; where they don't say what both are, one that they say, else 0. */
struct vv_solution {
    float x, y;
};
struct vv_solution vv_fit_solve(float a, float b, float c, float u, float v);

/* The half nearest to x among those that are not larger, or not smaller, in magnitude; 65504 where
 * x is larger still. Never -0. */
uint16_t vv_half_inside(float x);
uint16_t vv_half_outside(float x);

/* ---- whole blocks ---- */

/* 32 values of a block format without an offset: the stored scale (a half) and codes. */
uint16_t vv_fit_block(const struct vv_levels *levels, const struct vv_trials *trials,
                      const float *x /* [32] */, uint8_t *code /* [32] */);

/* With an offset: both halves. */
struct vv_halves {
    uint16_t scale, offset;
};
struct vv_halves vv_fit_block_line(const struct vv_levels *levels,
                                   const struct vv_shrinking *shrinking, const float *x /* [32] */,
                                   uint8_t *code /* [32] */);

/* A super-block of 256 values: groups of 16 or 32, each with an integer sub-scale (and minimum),
 * under one half (two). Value: scale * sub * level - offset * min. */
struct vv_super {
    uint16_t scale, offset;
    int sub[VV_GROUPS_MOST], min[VV_GROUPS_MOST]; /* [256 / group] */
    uint8_t code[VV_SUPER_VALUES];
};

/* Sub-scales from `lowest`, which is negative, to -lowest - 1. */
void vv_fit_super(const struct vv_levels *levels, const struct vv_trials *trials,
                  const float *x /* [256] */, size_t group, int lowest, struct vv_super *out);

/* Sub-scales and minimums from 0 to `most`. */
void vv_fit_super_line(const struct vv_levels *levels, const struct vv_shrinking *shrinking,
                       const float *x /* [256] */, size_t group, int most, struct vv_super *out);
