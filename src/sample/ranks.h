/*
 * Tokens in rank order, without sorting. All of top_k, top_p and the draw ask the same question:
 * the shortest run of ranks whose weights reach a sum. (For top_k every weight is 1.)
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct vv_ranked {
    uint64_t key; /* vv_selection_key: larger is better; all keys differ */
    uint64_t weight;
};

static inline int32_t vv_ranked_token(const struct vv_ranked *ranked) {
    return (int32_t)(0xffffffffu - (uint32_t)ranked->key);
}

/*
 * Reorders `ranked` [count] so that its first r elements are the shortest run of best ranks whose
 * weights sum to `need` or more, the worst of them last, the others in any order, and returns r.
 * What follows them is destroyed. Needs 1 <= need <= the sum of all weights, which is below 2^64.
 * Takes time in proportion to `count`, whatever the keys.
 */
size_t vv_ranks_reaching(struct vv_ranked *ranked, size_t count, uint64_t need);

/*
 * Fills `ranked` with the best `k` of `score` [count] that are above minus infinity, weight 1 each,
 * in any order; returns how many there are. Needs no NaN in `score` and room for
 * vv_ranks_room(count, k) elements.
 */
size_t vv_ranks_best(const float *score, size_t count, size_t k, struct vv_ranked *ranked);
size_t vv_ranks_room(size_t count, size_t k);
