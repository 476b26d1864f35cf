/*
 * Products of panels on AArch64: a strip is four weight rows.
 * Included by arm_neon.c, arm_dotprod.c and arm_i8mm.c, each of which first defines
 *
 *     group_dots(w, shift, steps, x, at, n, t)
 *
 * t[i] = dots of `steps` vectors of values (panel bytes less the shift: signed) with 4 · steps
 * activations from `at` on of row x[i], i = 0 .. n - 1, n being 1, 2 or 4.
 */
#pragma once
#include "quant/panel/kernel.h"
#include "quant/row_dot.h"

#include <arm_neon.h>

/* `step`: values to a scale, 32 or 16. */
VV_INLINE void block_rows(const struct vv_strip *p, int step, bool offset, int shift, size_t values,
                          const struct vv_panel_row *x, int n,
                          float *total /* [n][VV_PANEL_ROWS] */) {
    float32x4_t s[4];
    for (int i = 0; i < n; i++) {
        s[i] = vdupq_n_f32(0.0f);
    }
    for (size_t b = 0; b < values / (size_t)step; b++) {
        int32x4_t t[4];
        group_dots(p->w + (size_t)step / 4 * b, shift, step / 4, x, step * (int)b, n, t);
        float32x4_t d = (float32x4_t)p->step_d[b];
        for (int i = 0; i < n; i++) {
            float scale = x[i].scale[(size_t)step * b / 32];
            s[i] = vfmaq_f32(s[i], vmulq_n_f32(d, scale), vcvtq_f32_s32(t[i]));
            if (offset) {
                float32x4_t m = (float32x4_t)p->m[b];
                s[i] = vfmaq_f32(s[i], vmulq_n_f32(m, scale), vdupq_n_f32(x[i].sum[b]));
            }
        }
    }
    for (int i = 0; i < n; i++) {
        float *to = total + i * VV_PANEL_ROWS;
        vst1q_f32(to, vaddq_f32(vld1q_f32(to), s[i]));
    }
}

VV_INLINE void super_rows(const struct vv_strip *p, int groups, bool offset, int shift,
                          const struct vv_panel_row *x, int n,
                          float *total /* [n][VV_PANEL_ROWS] */) {
    int32x4_t sum[4];
    for (int i = 0; i < n; i++) {
        sum[i] = vdupq_n_s32(0);
    }
    for (int g = 0; g < groups; g++) {
        int32x4_t t[4];
        int steps = 32 / groups;
        group_dots(p->w + steps * g, shift, steps, x, 128 / groups * g, n, t);
        for (int i = 0; i < n; i++) {
            sum[i] = vmlaq_s32(sum[i], t[i], (int32x4_t)p->scale[g]);
        }
    }
    float32x4_t d = (float32x4_t)p->d[0], m = (float32x4_t)p->m[0];
    for (int i = 0; i < n; i++) {
        float32x4_t s = vmulq_f32(vmulq_n_f32(d, x[i].scale[0]), vcvtq_f32_s32(sum[i]));
        if (offset) {
            int32x4_t j = vdupq_n_s32(0);
            for (int k = 0; k < 4; k++) { /* a pair: the low half, then the high one */
                int32x4_t pair = (int32x4_t)p->pair[k];
                j = vmlaq_n_s32(j, vshrq_n_s32(vshlq_n_s32(pair, 16), 16), x[i].sum16[2 * k]);
                j = vmlaq_n_s32(j, vshrq_n_s32(pair, 16), x[i].sum16[2 * k + 1]);
            }
            s = vfmsq_f32(s, vmulq_n_f32(m, x[i].scale[0]), vcvtq_f32_s32(j));
        }
        float *to = total + i * VV_PANEL_ROWS;
        vst1q_f32(to, vaddq_f32(vld1q_f32(to), s));
    }
}

#define IN_BATCHES(CALL)                                                                           \
    for (int k = 0; k < VV_STRIPS; k++) {                                                          \
        const struct vv_strip *strip = &p->strip[k];                                               \
        size_t i = 0;                                                                              \
        VV_IN_FOURS(CALL)                                                                          \
    }
#define DOTS(name, CALL) VV_PANEL_DOTS(name, IN_BATCHES, CALL)
#define ROWS(n) x + i, n, total[i] + VV_WIDTH *k
#define BLOCK(n) block_rows(strip, 32, false, f->shift, values, ROWS(n))
#define BLOCK_16(n) block_rows(strip, 16, false, 16, values, ROWS(n))
#define BLOCK_OFFSET(n) block_rows(strip, 32, true, 0, values, ROWS(n))
#define SUPER_4_OFFSET(n) super_rows(strip, 4, true, 0, ROWS(n))
#define SUPER_8(n) super_rows(strip, 8, false, f->shift, ROWS(n))
#define SUPER_8_OFFSET(n) super_rows(strip, 8, true, 0, ROWS(n))
DOTS(block, BLOCK)
DOTS(block_16, BLOCK_16)
DOTS(block_offset, BLOCK_OFFSET)
DOTS(super_4_offset, SUPER_4_OFFSET)
DOTS(super_8, SUPER_8)
DOTS(super_8_offset, SUPER_8_OFFSET)

#define KERNEL(set)                                                                                \
    const struct vv_panel_kernel vv_panel_kernel_##set = {                                         \
        .fill = vv_panel_fill_neon,                                                                \
        .dots = VV_PANEL_TABLE,                                                                    \
        .rows_dot = vv_rows_dot,                                                                   \
    }
