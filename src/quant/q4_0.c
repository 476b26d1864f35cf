#include "quant/encode.h"
#include "quant/fit.h"

void vv_encode_q4_0(const float *x, void *blocks, size_t values) {
    static const struct vv_levels levels = VV_INTEGERS(-8, 7);
    static const struct vv_trials trials = {7, 8.8f, 7, false};
    uint8_t *to = blocks, code[32];
    for (size_t i = 0; i < values; i += 32, to += 18) {
        vv_store16(to, vv_fit_block(&levels, &trials, x + i, code));
        vv_store_nibbles(to + 2, code);
    }
}
