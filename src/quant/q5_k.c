#include "quant/encode.h"
#include "quant/fit.h"

static void encode_block(const float *x /* [256] */, uint8_t *to) {
    static const struct vv_levels levels = VV_INTEGERS(0, 31);
    static const struct vv_shrinking shrinking = {-0.012f, 0.018f, 3};
    struct vv_super s;
    vv_fit_super_line(&levels, &shrinking, x, 32, 63, &s);
    vv_store16(to, s.scale);
    vv_store16(to + 2, s.offset);
    vv_store_k_scales(&s, to + 4);
    memset(to + 16, 0, 32);
    for (int i = 0; i < 256; i++) {
        to[16 + i % 32] = (uint8_t)(to[16 + i % 32] | (s.code[i] >> 4) << i / 32);
    }
    vv_store_k_nibbles(&s, to + 48);
}

void vv_encode_q5_k(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i += 256) {
        encode_block(x + i, (uint8_t *)blocks + i / 256 * 176);
    }
}
