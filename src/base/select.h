/*
 * The best of many scores in the contract's total order (docs/arithmetic.md, section 8): score
 * descending, then index ascending; -0 equals +0, infinities are ordinary, NaN is an error.
 */
#pragma once
#include "base/error.h"
#include "base/math.h"
#include <stddef.h>

/* An integer that ascends with the score; equal scores have equal ones. Not for NaN. */
static inline int32_t vv_score_order(float score) {
    uint32_t u = vv_bits(score + 0.0f);
    return (int32_t)(u ^ (u >> 31 ? 0x7fffffffu : 0));
}

/*
 * Writes the indices of the `keep` best of n scores to `list`, ascending; 1 <= keep <= n < 2^31.
 * VV_ERROR_NOT_FINITE if a score is NaN; the list is then not written.
 *
 * The order's integer that splits the best from the rest is found bit by bit: each bit costs one
 * pass that only counts, which vectorises and has no bad case; most searches end early, when a
 * split leaves just `keep` above it. Scores equal to the split are taken in ascending index.
 */
static inline int vv_select_best(const float *score, size_t n, size_t keep,
                                 int32_t *list /* [keep] */) {
    int32_t bad = 0, above = 0;
    for (size_t i = 0; i < n; i++) {
        bad += score[i] != score[i];
    }
    if (bad) {
        return VV_ERROR_NOT_FINITE;
    }
    uint32_t split = 0; /* with its top bit flipped, as `least` is */
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        int32_t least = (int32_t)((split | bit) ^ 0x80000000u), count = 0;
        for (size_t i = 0; i < n; i++) {
            count += vv_score_order(score[i]) >= least;
        }
        if ((size_t)count >= keep) {
            split |= bit;
        }
        if ((size_t)count == keep) {
            break;
        }
    }
    int32_t least = (int32_t)(split ^ 0x80000000u);
    for (size_t i = 0; i < n; i++) {
        above += vv_score_order(score[i]) > least;
    }
    size_t equals = keep - (size_t)above, listed = 0;
    for (size_t i = 0; listed < keep; i++) {
        int32_t order = vv_score_order(score[i]);
        if (order > least || (order == least && equals > 0)) {
            equals -= order == least;
            list[listed++] = (int32_t)i;
        }
    }
    return VV_OK;
}
