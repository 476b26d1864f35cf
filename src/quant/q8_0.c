#include "quant/encode.h"
#include "quant/fit.h"

void vv_encode_q8_0(const float *x, void *blocks, size_t values) {
    static const struct vv_levels levels = VV_INTEGERS(-127, 127);
    static const struct vv_trials trials = {124, 132, 6, false};
    uint8_t *to = blocks, code[32];
    for (size_t i = 0; i < values; i += 32, to += 34) {
        vv_store16(to, vv_fit_block(&levels, &trials, x + i, code));
        for (int k = 0; k < 32; k++) {
            to[2 + k] = (uint8_t)(code[k] - 127);
        }
    }
}
