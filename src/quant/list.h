/*
 * The list of formats, from which the table (format.c), the kernels (row_dot.h) and the tests are
 * made. A new format is its header, a line here and a line in gguf/types.h.
 */
#pragma once
#include "gguf/types.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/q1_0.h"
#include "quant/q2_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/q8_1.h"
#include "quant/q8_k.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

/* X(type, name, has an offset) */
#define VV_SUPER_FORMATS(X)                                                                        \
    X(Q2_K, q2_k, true)                                                                            \
    X(Q3_K, q3_k, false)                                                                           \
    X(Q4_K, q4_k, true)                                                                            \
    X(Q5_K, q5_k, true)                                                                            \
    X(Q6_K, q6_k, false)                                                                           \
    X(IQ2_XXS, iq2_xxs, false)                                                                     \
    X(IQ2_XS, iq2_xs, false)                                                                       \
    X(IQ3_XXS, iq3_xxs, false)                                                                     \
    X(IQ1_S, iq1_s, false)                                                                         \
    X(IQ3_S, iq3_s, false)                                                                         \
    X(IQ2_S, iq2_s, false)                                                                         \
    X(IQ4_XS, iq4_xs, false)                                                                       \
    X(IQ1_M, iq1_m, false)                                                                         \
    X(TQ1_0, tq1_0, false)                                                                         \
    X(TQ2_0, tq2_0, false)                                                                         \
    X(Q1_0, q1_0, false)

/* X(type, name, has an offset, values a step) */
#define VV_BLOCK_FORMATS(X)                                                                        \
    X(Q4_0, q4_0, false, 32)                                                                       \
    X(Q4_1, q4_1, true, 32)                                                                        \
    X(Q5_0, q5_0, false, 32)                                                                       \
    X(Q5_1, q5_1, true, 32)                                                                        \
    X(Q8_0, q8_0, false, 32)                                                                       \
    X(IQ4_NL, iq4_nl, false, 32)                                                                   \
    X(MXFP4, mxfp4, false, 32)                                                                     \
    X(NVFP4, nvfp4, false, 16)                                                                     \
    X(Q2_0, q2_0, false, 32)                                                                       \
    X(Q2_0_128, q2_0_128, false, 32)

/* Formats of activations in other engines: block formats that are decoded and no more. */
#define VV_DECODED_FORMATS(X)                                                                      \
    X(Q8_1, q8_1, false, 32)                                                                       \
    X(Q8_K, q8_k, false, 32)

/* X(type, name) */
#define VV_FLOAT_FORMATS(X)                                                                        \
    X(F32, f32)                                                                                    \
    X(F16, f16)                                                                                    \
    X(BF16, bf16)

/* VV_BLOCK_VALUES_Q4_K = 256, VV_BLOCK_BYTES_Q4_K = 144, … */
enum {
#define VV_BLOCK_SIZES(name, id, values, bytes)                                                    \
    VV_BLOCK_VALUES_##name = (values), VV_BLOCK_BYTES_##name = (bytes),
    VV_TYPES(VV_BLOCK_SIZES)
#undef VV_BLOCK_SIZES
};

/* vv_unpack_q4_k and the like: one block, or one half of it, into its place in a segment. `part`:
 * which 128 values of a larger block, or which place in the segment a smaller block takes. */
typedef void vv_unpack_part(const uint8_t *block, size_t part, struct vv_segment *out);

/* A segment of a row whose blocks lie `stride` bytes apart. `values`: 128, or a smaller multiple of
 * block_values at the row's end. */
VV_INLINE void vv_unpack_segment(vv_unpack_part *unpack, size_t block_values, const uint8_t *row,
                                 size_t stride, size_t segment, size_t values,
                                 struct vv_segment *out) {
    if (block_values >= 128) {
        size_t parts = block_values / 128;
        unpack(row + segment / parts * stride, segment % parts, out);
        return;
    }
    const uint8_t *block = row + segment * (128 / block_values) * stride;
    for (size_t part = 0; part < values / block_values; part++) {
        unpack(block + part * stride, part, out);
    }
}

/* The float formats: `values` of them that lie one after another. */
VV_INLINE void vv_decode_f32(const uint8_t *from, float *to, size_t values) {
    memcpy(to, from, values * sizeof *to);
}

VV_INLINE void vv_decode_f16(const uint8_t *from, float *to, size_t values) {
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= values; i += 8) {
        __m128i h = _mm_loadu_si128((const __m128i *)(from + 2 * i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(h));
    }
#endif
    for (; i < values; i++) {
        to[i] = vv_load_half(from + 2 * i);
    }
}

VV_INLINE void vv_decode_bf16(const uint8_t *from, float *to, size_t values) {
    for (size_t i = 0; i < values; i++) {
        to[i] = vv_from_bf16(vv_load16(from + 2 * i));
    }
}

/* Values of a segment, every written operation rounded once: (d * scale) * w - dmin * min, and
 * step_d * w + step_m. The sign of a zero is that of these operations. */
VV_INLINE void vv_decode_super(const struct vv_segment *s, bool offset, float *to /* [128] */) {
    for (int k = 0; k < 8; k++) {
        float scale = s->d * (float)s->scale[k], min = offset ? s->dmin * (float)s->min[k] : 0.0f;
        for (int i = 16 * k; i < 16 * k + 16; i++) {
            float value = scale * (float)s->w[i];
            to[i] = offset ? value - min : value;
        }
    }
}

VV_INLINE void vv_decode_block(const struct vv_segment *s, bool offset, size_t step, size_t values,
                               float *to /* [values] */) {
    for (size_t i = 0; i < values; i++) {
        float value = s->step_d[i / step] * (float)s->w[i];
        to[i] = offset ? value + s->step_m[i / step] : value;
    }
}
