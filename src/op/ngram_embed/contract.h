/*
 * ngram_embed: the rows of a hashed n-gram table that a token and those before it select, exact
 * integers. For the token at position p: c_0 is its id, and c_s, s = 1 .. order − 1, is the id at
 * p − s, or the separator E if p − s < 0 or any id at p − s .. p − 1 is E (the token's own id cuts
 * nothing). In 64-bit arithmetic that wraps:
 *
 *     h_1 = c_0 · M_0        h_(s+1) = h_s xor (c_s · M_s)
 *     row_k = h_(s+1) mod V_k + O_k      k = (s−1) · heads_per .. s · heads_per − 1
 *
 * so bigram heads come first and there is no unigram head. e is the rows' decoded values one after
 * another, times the table's separate scale where there is one. A row outside the table, or a V of
 * zero, is VV_ERROR_INVALID. A unit is one row of the window.
 *
 * Ids of the window's rows are read from the window, older ones from `history`; whether cache_write
 * has stored the window's ids already makes no difference if the ring holds order − 1 positions
 * more than a window.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_ngram_embed {
    const struct vv_window *window;
    struct vv_rows rows;          /* the window's */
    struct vv_state_view history; /* ring of ids by position, I32, width 1 */
    struct vv_weight *table;
    float *e;         /* [rows][heads * table->width]; heads = (order − 1) * heads_per */
    int64_t *row_ids; /* [rows][heads], or NULL: not wanted */
    const uint64_t *multipliers; /* [order]: M */
    const uint64_t *vocab;       /* [heads]: V */
    const uint64_t *offset;      /* [heads]: O */
    size_t order, heads_per;
    int32_t separator; /* E */
};

extern const struct vv_operation vv_ngram_embed;
