#include "quant/encode.h"
#include "quant/fit.h"

void vv_store_k_scales(const struct vv_super *s, uint8_t *to) {
    for (int g = 0; g < 4; g++) {
        int sub = s->sub[4 + g], min = s->min[4 + g];
        to[g] = (uint8_t)(s->sub[g] | sub >> 4 << 6);
        to[4 + g] = (uint8_t)(s->min[g] | min >> 4 << 6);
        to[8 + g] = (uint8_t)((sub & 15) | (min & 15) << 4);
    }
}

void vv_store_k_nibbles(const struct vv_super *s, uint8_t *to) {
    for (int i = 0; i < 128; i++) {
        const uint8_t *code = s->code + i / 32 * 64 + i % 32;
        to[i] = (uint8_t)((code[0] & 15) | (code[32] & 15) << 4);
    }
}

static void encode_block(const float *x /* [256] */, uint8_t *to) {
    static const struct vv_levels levels = VV_INTEGERS(0, 15);
    static const struct vv_shrinking shrinking = {-0.024f, 0.036f, 3};
    struct vv_super s;
    vv_fit_super_line(&levels, &shrinking, x, 32, 63, &s);
    vv_store16(to, s.scale);
    vv_store16(to + 2, s.offset);
    vv_store_k_scales(&s, to + 4);
    vv_store_k_nibbles(&s, to + 16);
}

void vv_encode_q4_k(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i += 256) {
        encode_block(x + i, (uint8_t *)blocks + i / 256 * 144);
    }
}
