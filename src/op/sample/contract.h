/*
 * sample: the token of each output, drawn from its logits where they lie, so that 4 bytes a row
 * come to the host in place of all logits. A window says for each output how (struct vv_draw), or
 * that nothing is to be drawn. The chain is steps 2 to 6 of sample/sample.h on scores that are the
 * logits: no bias, no penalties.
 *
 * Banned tokens, of minus infinity, are out. Rank: vv_selection_key. Temperature 0 takes the first
 * of the rank. Else, with top the best score:
 *
 *     w = vv_draw_weight(z, top, filtering)     v = vv_draw_weight(z, top, temperature)
 *     kept   the first top_k of the rank (0: all); of these the shortest run of ranks whose w sum
 *            to vv_draw_need(top_p, their sum of w) or more (top_p 1: all); of these those with
 *            w >= vv_draw_least(min_p)
 *     x      = floor(random * (sum of v of the kept) / 2^64), random of the draw's seed and
 * position token  = the first kept one in rank whose running sum of v exceeds x
 *
 * All sums are of integers, so their order is nobody's concern.
 *
 * The token is -1 where no draw was asked for, where a logit is NaN or all are banned: whoever
 * asked then looks at the logits. A window that asks for none leaves all tokens as they are.
 * Nothing is an error. A unit is one output.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_sample {
    const float *logits; /* [outputs][vocabulary] */
    int32_t *token;      /* [outputs] */
    size_t vocabulary;   /* 1 .. 2^24 - 1 */
    const struct vv_window *window;
    struct vv_rows rows; /* the window's outputs */
};

extern const struct vv_operation vv_sample;
