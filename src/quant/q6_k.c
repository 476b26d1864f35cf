#include "quant/encode.h"
#include "quant/fit.h"

static void encode_block(const float *x /* [256] */, uint8_t *to) {
    static const struct vv_levels levels = VV_INTEGERS(-32, 31);
    static const struct vv_trials trials = {29, 33, 6, false};
    struct vv_super s;
    vv_fit_super(&levels, &trials, x, 16, -128, &s);
    for (int i = 0; i < 64; i++) {
        int half = i / 32, at = i % 32;
        const uint8_t *code = s.code + 128 * half + at;
        to[64 * half + at] = (uint8_t)((code[0] & 15) | (code[64] & 15) << 4);
        to[64 * half + 32 + at] = (uint8_t)((code[32] & 15) | (code[96] & 15) << 4);
        to[128 + i] =
            (uint8_t)(code[0] >> 4 | code[32] >> 4 << 2 | code[64] >> 4 << 4 | code[96] >> 4 << 6);
    }
    for (int g = 0; g < 16; g++) {
        to[192 + g] = (uint8_t)s.sub[g];
    }
    vv_store16(to + 208, s.scale);
}

void vv_encode_q6_k(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i += 256) {
        encode_block(x + i, (uint8_t *)blocks + i / 256 * 210);
    }
}
