/*
 * The order in which GPUs take weights, "split": a row begins at a multiple of 16 bytes with the
 * codes of all its blocks, and their headers (scales, minimums) follow. So codes can be read 16
 * bytes at a time, which blocks of 18, 34 or 210 bytes don't allow. Rows of float formats stay as
 * they are.
 */
#pragma once
#include "base/both.h"
#include "quant/weight.h"
#include <stddef.h>
#include <stdint.h>

extern const struct vv_layout vv_layout_split;

/* X(name, where the codes of a block begin, their bytes): all else of a block is its header. */
#define VV_SPLIT_FORMATS(X)                                                                        \
    X(Q4_0, 2, 16)                                                                                 \
    X(Q4_1, 4, 16)                                                                                 \
    X(Q5_0, 6, 16)                                                                                 \
    X(Q5_1, 8, 16)                                                                                 \
    X(Q8_0, 2, 32)                                                                                 \
    X(IQ4_NL, 2, 16)                                                                               \
    X(MXFP4, 1, 16)                                                                                \
    X(NVFP4, 4, 32)                                                                                \
    X(Q2_0, 2, 16)                                                                                 \
    X(Q2_0_128, 2, 32)                                                                             \
    X(Q1_0, 2, 16)                                                                                 \
    X(Q2_K, 16, 64)                                                                                \
    X(Q3_K, 0, 96)                                                                                 \
    X(Q4_K, 16, 128)                                                                               \
    X(Q5_K, 16, 160)                                                                               \
    X(Q6_K, 0, 192)                                                                                \
    X(IQ4_XS, 8, 128)                                                                              \
    X(IQ2_XXS, 2, 64)                                                                              \
    X(IQ2_XS, 2, 64)                                                                               \
    X(IQ2_S, 2, 64)                                                                                \
    X(IQ3_XXS, 2, 96)                                                                              \
    X(IQ3_S, 2, 104)                                                                               \
    X(IQ1_S, 2, 48)                                                                                \
    X(IQ1_M, 0, 48)                                                                                \
    X(TQ1_0, 0, 48)                                                                                \
    X(TQ2_0, 0, 64)

/* Bytes from one row to the next. */
VV_BOTH size_t vv_split_row_bytes(size_t row_bytes) {
    return (row_bytes + 15) / 16 * 16;
}
