/* The numbers of a draw that hosts and GPUs must agree on: weights, and what filters ask of them
 * (sample/sample.h, steps 4 and 5). */
#pragma once
#include "base/math.h"

#define VV_DRAW_ONE 0x1p+40f /* the weight of the likeliest token */

/* floor(2^40 exp((z - top) / temperature)); z at most `top`, `temperature` above 0. */
VV_MATH uint64_t vv_draw_weight(float z, float top, float temperature) {
    float x = z == top ? 0.0f : (z - top) / temperature; /* infinity - infinity is no number */
    return x < -28.0f ? 0 : (uint64_t)(vv_exp(x) * VV_DRAW_ONE); /* e^-28 < 2^-40 */
}

/* The least whole number that is 1 or more and `top_p` of `sum` or more. */
VV_MATH uint64_t vv_draw_need(float top_p, uint64_t sum) {
    double mass = (double)top_p * (double)sum;
    uint64_t need = (uint64_t)mass;
    return (double)need < mass || need == 0 ? need + 1 : need;
}

/* The least weight that `min_p` lets pass. */
VV_MATH uint64_t vv_draw_least(float min_p) {
    return (uint64_t)(min_p * VV_DRAW_ONE);
}
