/*
 * The formats that are multiplied by panels, X(type, name, kind, shift, narrow): see panel.h. NVFP4,
 * Q2_0 (a scale for 16, for 64 values) and float formats aren't; quant/row_dot.h takes every one.
 */
#pragma once
#include "quant/list.h"

#define VV_PANEL_BLOCKS(X)                                                                         \
    X(Q4_0, q4_0, BLOCK, 8, true)                                                                  \
    X(Q4_1, q4_1, BLOCK_OFFSET, 0, true)                                                           \
    X(Q5_0, q5_0, BLOCK, 16, true)                                                                 \
    X(Q5_1, q5_1, BLOCK_OFFSET, 0, true)                                                           \
    X(Q8_0, q8_0, BLOCK, 128, false)                                                               \
    X(IQ4_NL, iq4_nl, BLOCK, 128, false)                                                           \
    X(MXFP4, mxfp4, BLOCK, 12, true)

#define VV_PANEL_SUPERS(X)                                                                         \
    X(Q2_K, q2_k, SUPER_8_OFFSET, 0, true)                                                         \
    X(Q3_K, q3_k, SUPER_8, 4, true)                                                                \
    X(Q4_K, q4_k, SUPER_4_OFFSET, 0, true)                                                         \
    X(Q5_K, q5_k, SUPER_4_OFFSET, 0, true)                                                         \
    X(Q6_K, q6_k, SUPER_8, 32, true)                                                               \
    X(IQ4_XS, iq4_xs, SUPER_8, 128, false)

/* Unpacked row by row (vv_panel_of_segments). */
#define VV_PANEL_LOOKED_UP(X)                                                                      \
    X(IQ2_XXS, iq2_xxs, SUPER_8, 128, false)                                                       \
    X(IQ2_XS, iq2_xs, SUPER_8, 128, false)                                                         \
    X(IQ3_XXS, iq3_xxs, SUPER_8, 128, false)                                                       \
    X(IQ1_S, iq1_s, SUPER_8, 128, false)                                                           \
    X(IQ3_S, iq3_s, SUPER_8, 128, false)                                                           \
    X(IQ2_S, iq2_s, SUPER_8, 128, false)                                                           \
    X(IQ1_M, iq1_m, SUPER_8, 128, false)                                                           \
    X(TQ1_0, tq1_0, SUPER_8, 128, false)                                                           \
    X(TQ2_0, tq2_0, SUPER_8, 128, false)                                                           \
    X(Q1_0, q1_0, SUPER_8, 128, false)
