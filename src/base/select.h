/*
 * The best of many scores in the contract's total order (docs/arithmetic.md, section 8): score
 * descending, then index ascending; -0 equals +0, infinities are ordinary, NaN is an error.
 */
#pragma once
#include "base/error.h"
#include "base/math.h"
#include <stdbool.h>
#include <stddef.h>

/* An integer that ascends with the score; equal scores have equal ones. Not for NaN. */
static inline int32_t vv_score_order(float score) {
    uint32_t u = vv_bits(score + 0.0f);
    return (int32_t)(u ^ (u >> 31 ? 0x7fffffffu : 0));
}

enum { VV_CANDIDATES_MAX = 2048, VV_SELECT_BLOCK = 64 };

/* Whether a score is NaN; else the least order and the largest one of n >= 1 scores. */
static inline bool vv_order_range(const float *score, size_t n, int32_t *low, int32_t *high) {
    int32_t bad = 0, least = INT32_MAX, most = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        int32_t order = vv_score_order(score[i]);
        bad += score[i] != score[i];
        least = order < least ? order : least;
        most = order > most ? order : most;
    }
    *low = least;
    *high = most;
    return bad == 0;
}

static inline size_t vv_count_scores(const float *score, size_t n, int32_t least) {
    int32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += vv_score_order(score[i]) >= least;
    }
    return (size_t)count;
}

static inline size_t vv_count_orders(const int32_t *order, size_t n, int32_t least) {
    int32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += order[i] >= least;
    }
    return (size_t)count;
}

/* The elements of a block whose orders are low .. high - 1, as bits. */
static inline uint64_t vv_orders_within(const int32_t *order, size_t n, int32_t low, int32_t high) {
    uint8_t flag[VV_SELECT_BLOCK] = {0};
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        flag[i] = order[i] >= low && order[i] < high;
    }
    for (size_t i = 0; i < VV_SELECT_BLOCK / 8; i++) {
        uint64_t eight;
        memcpy(&eight, flag + 8 * i, sizeof eight);
        bits |= (eight * 0x0102040810204080u) >> 56 << 8 * i; /* bit k of byte i from flag 8i + k */
    }
    return bits;
}

/* Keeps the orders low .. high - 1 of n, in `to`, which may be `order`; returns their number. */
static inline size_t vv_keep_orders(const int32_t *order, size_t n, int32_t low, int32_t high,
                                    int32_t *to) {
    size_t kept = 0;
    for (size_t at = 0; at < n; at += VV_SELECT_BLOCK) {
        size_t m = n - at < VV_SELECT_BLOCK ? n - at : VV_SELECT_BLOCK;
        for (uint64_t b = vv_orders_within(order + at, m, low, high); b; b &= b - 1) {
            to[kept++] = order[at + (size_t)__builtin_ctzll(b)];
        }
    }
    return kept;
}

static inline void vv_block_orders(const float *score, size_t n, int32_t *order) {
    for (size_t i = 0; i < n; i++) {
        order[i] = vv_score_order(score[i]);
    }
}

static inline size_t vv_keep_scores(const float *score, size_t n, int32_t low, int32_t high,
                                    int32_t *to) {
    size_t kept = 0;
    for (size_t at = 0; at < n; at += VV_SELECT_BLOCK) {
        size_t m = n - at < VV_SELECT_BLOCK ? n - at : VV_SELECT_BLOCK;
        int32_t order[VV_SELECT_BLOCK];
        vv_block_orders(score + at, m, order);
        kept += vv_keep_orders(order, m, low, high, to + kept);
    }
    return kept;
}

/* Lists scores whose order is above `least`, and the first `equals` of those that have it. */
static inline void vv_list_scores(const float *score, size_t n, int32_t least, size_t equals,
                                  int32_t *list) {
    for (size_t at = 0; at < n; at += VV_SELECT_BLOCK) {
        size_t m = n - at < VV_SELECT_BLOCK ? n - at : VV_SELECT_BLOCK;
        int32_t order[VV_SELECT_BLOCK];
        vv_block_orders(score + at, m, order);
        for (uint64_t b = vv_orders_within(order, m, least, INT32_MAX); b; b &= b - 1) {
            size_t i = (size_t)__builtin_ctzll(b);
            if (order[i] > least || equals > 0) {
                equals -= order[i] == least;
                *list++ = (int32_t)(at + i);
            }
        }
    }
}

/*
 * Writes the indices of the `keep` best of n scores to `list`, ascending; 1 <= keep <= n < 2^31.
 * VV_ERROR_NOT_FINITE if a score is NaN; the list is then not written.
 *
 * The order that splits the best from the rest is found by halving the range that it must be in.
 * Each step is a pass that only counts, which vectorises and has no bad case, over all scores until
 * few are left in the range, then over those. Most searches end early, when a split leaves just
 * `keep` above it. Scores equal to the split are taken in ascending index.
 */
static inline int vv_select_best(const float *score, size_t n, size_t keep,
                                 int32_t *list /* [keep] */) {
    int32_t candidate[VV_CANDIDATES_MAX], low, high;
    size_t from_low = n, from_high = 0; /* scores from `low` on, and from `high` on */
    size_t candidates = SIZE_MAX;       /* none are listed yet … */
    size_t above = 0;                   /* … or these, beside the scores above them */
    if (!vv_order_range(score, n, &low, &high)) {
        return VV_ERROR_NOT_FINITE;
    }
    high++;
    while (from_low != keep && (uint32_t)high - (uint32_t)low > 1) {
        int32_t middle = low + (int32_t)(((uint32_t)high - (uint32_t)low) / 2);
        size_t count = candidates == SIZE_MAX
                           ? vv_count_scores(score, n, middle)
                           : above + vv_count_orders(candidate, candidates, middle);
        if (count >= keep) {
            low = middle;
            from_low = count;
        } else {
            high = middle;
            from_high = count;
        }
        size_t left = from_low - from_high;
        if (candidates == SIZE_MAX && left <= VV_CANDIDATES_MAX && left <= n / 2) {
            candidates = vv_keep_scores(score, n, low, high, candidate);
            above = from_high;
        } else if (candidates != SIZE_MAX && left <= candidates / 2) {
            candidates = vv_keep_orders(candidate, candidates, low, high, candidate);
            above = from_high;
        }
    }
    if (from_low == keep) {
        vv_list_scores(score, n, low, n, list);
    } else {
        vv_list_scores(score, n, low, keep - from_high, list);
    }
    return VV_OK;
}
