#include "quant/encode.h"
#include "quant/fit.h"

static void encode_block(const float *x /* [256] */, uint8_t *to) {
    static const struct vv_levels levels = VV_INTEGERS(0, 3);
    static const struct vv_shrinking shrinking = {-0.036f, 0.144f, 3};
    struct vv_super s;
    vv_fit_super_line(&levels, &shrinking, x, 16, 15, &s);
    for (int g = 0; g < 16; g++) {
        to[g] = (uint8_t)(s.sub[g] | s.min[g] << 4);
    }
    for (int i = 0; i < 64; i++) {
        const uint8_t *code = s.code + i / 32 * 128 + i % 32;
        to[16 + i] = (uint8_t)(code[0] | code[32] << 2 | code[64] << 4 | code[96] << 6);
    }
    vv_store16(to + 80, s.scale);
    vv_store16(to + 82, s.offset);
}

void vv_encode_q2_k(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i += 256) {
        encode_block(x + i, (uint8_t *)blocks + i / 256 * 84);
    }
}
