/* Products of panels with the dot-product instruction (Armv8.2-DotProd). */
#include "quant/panel/panel.h"

#include <arm_neon.h>
#include <string.h>

VV_INLINE void group_dots(const vv_lanes *w, int shift, int steps, const struct vv_panel_row *x,
                          int at, int n, int32x4_t *t) {
    for (int i = 0; i < n; i++) {
        t[i] = vdupq_n_s32(0);
    }
    for (int k = 0; k < steps; k++) {
        uint8x16_t bytes = (uint8x16_t)w[k];
        int8x16_t v = vreinterpretq_s8_u8(vsubq_u8(bytes, vdupq_n_u8((uint8_t)shift)));
        for (int i = 0; i < n; i++) {
            int32_t four;
            memcpy(&four, x[i].q + at + 4 * k, sizeof four);
            t[i] = vdotq_s32(t[i], v, vreinterpretq_s8_s32(vdupq_n_s32(four)));
        }
    }
}

#include "quant/panel/arm_lanes.h"

KERNEL(dotprod);
