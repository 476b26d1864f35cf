/*
 * The rows that are evaluated together. A row is one token of one sequence: (slot, position,
 * token). Rows are data, not shape: a program serves every window up to its capacity, and kernels
 * read the counts at every run. This block lies in memory that both the host and the kernels can
 * read.
 *
 * Rows may come in any order and from any number of sequences; within a sequence their positions
 * are consecutive. Positions before the sequence's first row of the window are in its state.
 */
#pragma once
#include "base/both.h"
#include <stddef.h>
#include <stdint.h>

/* How a token is to be drawn from an output's logits (op/sample/contract.h says to the bit what the
 * numbers do). */
struct vv_draw {
    uint64_t seed, position;
    int32_t wanted;    /* 0: nothing is drawn */
    int32_t top_k;     /* 0: all */
    float temperature; /* 0: the likeliest token, whatever the others say */
    float filtering;   /* the temperature that top_p and min_p see */
    float top_p, min_p;
};

/* What the draws of a window are, at most. */
enum vv_draws { VV_DRAWS_NONE, VV_DRAWS_GREEDY, VV_DRAWS_WEIGHED };

struct vv_window {
    int32_t rows;
    int32_t sequences;
    int32_t outputs;         /* rows whose logits are wanted */
    int32_t draws;           /* enum vv_draws */
    int32_t *token;          /* [rows] */
    int32_t *position;       /* [rows] */
    int32_t *slot;           /* [rows] */
    int32_t *before;         /* [rows] the row with this sequence's previous position, or -1 */
    int32_t *sequence_begin; /* [sequences + 1] into sequence_row */
    int32_t *sequence_row;   /* [rows] rows of each sequence in ascending position */
    int32_t *output_row;     /* [outputs] */
    struct vv_draw *draw;    /* [outputs], where there are draws */
    int32_t *source;         /* [rows] row of another program's buffer, or -1: see mtp_wide */
};

/* How many rows a step works on: a count of the window, read at every run, times a constant. */
struct vv_rows {
    const int32_t *count; /* &window->rows, &window->outputs */
    size_t times;         /* 1; experts a token; streams … */
};

static inline size_t vv_rows(struct vv_rows rows) {
    return (size_t)*rows.count * rows.times;
}

/* The row of the window that holds the token `distance` positions before `row`'s, or -1: then it is
 * in the sequence's state, or before its start if the position would be negative. */
VV_BOTH int32_t vv_window_back(const struct vv_window *w, int32_t row, int32_t distance) {
    while (distance > 0 && row >= 0) {
        row = w->before[row];
        distance--;
    }
    return row;
}
