/*
 * Encoders: values to blocks, by the least sum of squared errors that a moderate search finds. Each
 * format's is in a file of its own beside its layout; quant/fit.h has what they share.
 */
#pragma once
#include "gguf/types.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VV_HALF_MOST 65504.0f

/* X(type, name, largest magnitude that a block can hold) */
#define VV_ENCODED_FORMATS(X)                                                                      \
    X(F32, f32, FLT_MAX)                                                                           \
    X(F16, f16, VV_HALF_MOST)                                                                      \
    X(BF16, bf16, 0x1.fep+127f)                                                                    \
    X(Q4_0, q4_0, 8 * VV_HALF_MOST)                                                                \
    X(Q4_1, q4_1, VV_HALF_MOST)                                                                    \
    X(Q5_0, q5_0, 16 * VV_HALF_MOST)                                                               \
    X(Q5_1, q5_1, VV_HALF_MOST)                                                                    \
    X(Q8_0, q8_0, 127 * VV_HALF_MOST)                                                              \
    X(Q2_K, q2_k, 15 * VV_HALF_MOST)                                                               \
    X(Q3_K, q3_k, 32 * 4 * VV_HALF_MOST)                                                           \
    X(Q4_K, q4_k, 63 * VV_HALF_MOST)                                                               \
    X(Q5_K, q5_k, 63 * VV_HALF_MOST)                                                               \
    X(Q6_K, q6_k, 128 * 32 * VV_HALF_MOST)                                                         \
    X(IQ4_NL, iq4_nl, 127 * VV_HALF_MOST)                                                          \
    X(IQ4_XS, iq4_xs, 32 * 127 * VV_HALF_MOST)                                                     \
    X(MXFP4, mxfp4, 12 * 0x1p+124f)

/* vv_encode_q4_k and the like: `values` is a multiple of the format's block, x finite and no larger
 * than the largest magnitude. */
#define VV_ENCODER(TYPE, name, largest)                                                            \
    void vv_encode_##name(const float *x /* [values] */, void *blocks, size_t values);
VV_ENCODED_FORMATS(VV_ENCODER)
#undef VV_ENCODER

/* ---- pieces of blocks ---- */

static inline void vv_store16(uint8_t *to, uint16_t v) {
    to[0] = (uint8_t)v;
    to[1] = (uint8_t)(v >> 8);
}

/* Low four bits of 32 codes: values 0 .. 15 in low nibbles, 16 .. 31 in high ones. */
static inline void vv_store_nibbles(uint8_t *to /* [16] */, const uint8_t *code /* [32] */) {
    for (int i = 0; i < 16; i++) {
        to[i] = (uint8_t)((code[i] & 15) | (code[16 + i] & 15) << 4);
    }
}

/* Bit 4 of 32 codes, the first one lowest. */
static inline void vv_store_fifth_bits(uint8_t *to /* [4] */, const uint8_t *code /* [32] */) {
    memset(to, 0, 4);
    for (int i = 0; i < 32; i++) {
        to[i / 8] = (uint8_t)(to[i / 8] | (code[i] >> 4 & 1) << i % 8);
    }
}

/* Of Q4_K and Q5_K: sub-scales and minimums of six bits in 12 bytes, and the low four bits of all
 * codes in 128 (src/quant/q4_k.h). */
struct vv_super;
void vv_store_k_scales(const struct vv_super *s, uint8_t *to /* [12] */);
void vv_store_k_nibbles(const struct vv_super *s, uint8_t *to /* [128] */);
