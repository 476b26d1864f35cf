/* Products of panels on any AArch64 machine, and unpacking for all of them. */
#include "quant/panel/fill.h"

#include <arm_neon.h>

/* Products of bytes fit 16 bits (at most 128 · 127); pairs of them are added up in 32. */
VV_INLINE void group_dots(const vv_lanes *w, int shift, int steps, const struct vv_panel_row *x,
                          int at, int n, int32x4_t *t) {
    int32x4_t low[4], high[4]; /* of rows 0 and 1, of rows 2 and 3: two sums each */
    for (int i = 0; i < n; i++) {
        low[i] = high[i] = vdupq_n_s32(0);
    }
    for (int k = 0; k < steps; k++) {
        uint8x16_t bytes = (uint8x16_t)w[k];
        int8x16_t v = vreinterpretq_s8_u8(vsubq_u8(bytes, vdupq_n_u8((uint8_t)shift)));
        for (int i = 0; i < n; i++) {
            int32_t four;
            memcpy(&four, x[i].q + at + 4 * k, sizeof four);
            int8x16_t q = vreinterpretq_s8_s32(vdupq_n_s32(four));
            low[i] = vpadalq_s16(low[i], vmull_s8(vget_low_s8(v), vget_low_s8(q)));
            high[i] = vpadalq_s16(high[i], vmull_high_s8(v, q));
        }
    }
    for (int i = 0; i < n; i++) {
        t[i] = vpaddq_s32(low[i], high[i]);
    }
}

#include "quant/panel/arm_lanes.h"

vv_panel_fill *vv_panel_fill_neon(int type) {
    return fill_of(type);
}

KERNEL(neon);
