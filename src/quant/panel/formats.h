/*
 * The formats that are multiplied by panels, X(type, name, kind, shift, largest): see panel.h. All
 * quantised ones are; quant/row_dot.h takes float formats, too.
 */
#pragma once
#include "quant/list.h"

#define VV_PANEL_BLOCKS(X)                                                                         \
    X(Q4_0, q4_0, BLOCK, 8, 15)                                                                    \
    X(Q4_1, q4_1, BLOCK_OFFSET, 0, 15)                                                             \
    X(Q5_0, q5_0, BLOCK, 16, 31)                                                                   \
    X(Q5_1, q5_1, BLOCK_OFFSET, 0, 31)                                                             \
    X(Q8_0, q8_0, BLOCK, 128, 255)                                                                 \
    X(IQ4_NL, iq4_nl, BLOCK, 128, 255)                                                             \
    X(MXFP4, mxfp4, BLOCK, 16, 28)                                                                 \
    X(NVFP4, nvfp4, BLOCK_16, 16, 28)                                                              \
    X(Q2_0, q2_0, BLOCK, 1, 3)                                                                     \
    X(Q2_0_128, q2_0_128, BLOCK, 1, 3)

#define VV_PANEL_SUPERS(X)                                                                         \
    X(Q2_K, q2_k, SUPER_8_OFFSET, 0, 3)                                                            \
    X(Q3_K, q3_k, SUPER_8, 4, 7)                                                                   \
    X(Q4_K, q4_k, SUPER_4_OFFSET, 0, 15)                                                           \
    X(Q5_K, q5_k, SUPER_4_OFFSET, 0, 31)                                                           \
    X(Q6_K, q6_k, SUPER_8, 32, 63)                                                                 \
    X(IQ4_XS, iq4_xs, SUPER_8, 128, 255)                                                           \
    X(IQ2_XXS, iq2_xxs, SUPER_8, 64, 107)                                                          \
    X(IQ3_XXS, iq3_xxs, SUPER_8, 64, 126)                                                          \
    X(IQ3_S, iq3_s, SUPER_8, 16, 31)

/* Unpacked row by row (vv_panel_of_segments). */
#define VV_PANEL_LOOKED_UP(X)                                                                      \
    X(IQ2_XS, iq2_xs, SUPER_8, 128, 255)                                                           \
    X(IQ1_S, iq1_s, SUPER_8, 128, 255)                                                             \
    X(IQ2_S, iq2_s, SUPER_8, 128, 255)                                                             \
    X(IQ1_M, iq1_m, SUPER_8, 128, 255)                                                             \
    X(TQ1_0, tq1_0, SUPER_8, 128, 255)                                                             \
    X(TQ2_0, tq2_0, SUPER_8, 128, 255)                                                             \
    X(Q1_0, q1_0, SUPER_8, 128, 255)
