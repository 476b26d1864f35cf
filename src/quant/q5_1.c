#include "quant/encode.h"
#include "quant/fit.h"

void vv_encode_q5_1(const float *x, void *blocks, size_t values) {
    static const struct vv_levels levels = VV_INTEGERS(0, 31);
    static const struct vv_shrinking shrinking = {-0.012f, 0.013f, 4};
    uint8_t *to = blocks, code[32];
    for (size_t i = 0; i < values; i += 32, to += 24) {
        struct vv_halves h = vv_fit_block_line(&levels, &shrinking, x + i, code);
        vv_store16(to, h.scale);
        vv_store16(to + 2, h.offset);
        vv_store_fifth_bits(to + 4, code);
        vv_store_nibbles(to + 8, code);
    }
}
