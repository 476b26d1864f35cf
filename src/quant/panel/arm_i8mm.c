/*
 * Products of panels with the matrix instruction (FEAT_I8MM): two weight rows by two rows of
 * activations, eight values deep. One row of activations is better off with dot products.
 */
#include "quant/panel/panel.h"

#include <arm_neon.h>
#include <string.h>

VV_INLINE int8x16_t values_of(const vv_lanes *w, int shift) {
    uint8x16_t bytes = (uint8x16_t)*w;
    return vreinterpretq_s8_u8(vsubq_u8(bytes, vdupq_n_u8((uint8_t)shift)));
}

VV_INLINE void one_row(const vv_lanes *w, int shift, int steps, const struct vv_panel_row *x,
                       int at, int32x4_t *t) {
    *t = vdupq_n_s32(0);
    for (int k = 0; k < steps; k++) {
        int32_t four;
        memcpy(&four, x->q + at + 4 * k, sizeof four);
        *t = vdotq_s32(*t, values_of(&w[k], shift), vreinterpretq_s8_s32(vdupq_n_s32(four)));
    }
}

VV_INLINE void group_dots(const vv_lanes *w, int shift, int steps, const struct vv_panel_row *x,
                          int at, int n, int32x4_t *t) {
    if (n == 1) {
        one_row(w, shift, steps, x, at, t);
        return;
    }
    /* [weight row 0 · x 0, row 0 · x 1, row 1 · x 0, row 1 · x 1], and of weight rows 2 and 3 */
    int32x4_t first[2], second[2];
    for (int i = 0; i < n / 2; i++) {
        first[i] = second[i] = vdupq_n_s32(0);
    }
    for (int k = 0; k < steps; k += 2) {
        int32x4_t a = vreinterpretq_s32_s8(values_of(&w[k], shift));
        int32x4_t b = vreinterpretq_s32_s8(values_of(&w[k + 1], shift));
        int8x16_t rows01 = vreinterpretq_s8_s32(vzip1q_s32(a, b));
        int8x16_t rows23 = vreinterpretq_s8_s32(vzip2q_s32(a, b));
        for (int i = 0; i < n / 2; i++) {
            int8x16_t q =
                vcombine_s8(vld1_s8(x[2 * i].q + at + 4 * k), vld1_s8(x[2 * i + 1].q + at + 4 * k));
            first[i] = vmmlaq_s32(first[i], rows01, q);
            second[i] = vmmlaq_s32(second[i], rows23, q);
        }
    }
    for (int i = 0; i < n / 2; i++) {
        t[2 * i] = vuzp1q_s32(first[i], second[i]);
        t[2 * i + 1] = vuzp2q_s32(first[i], second[i]);
    }
}

#include "quant/panel/arm_lanes.h"

KERNEL(i8mm);
