#include "quant/encode.h"
#include "quant/fit.h"

static void encode_block(const float *x /* [256] */, uint8_t *to) {
    static const struct vv_levels levels = VV_INTEGERS(-4, 3);
    static const struct vv_trials trials = {3, 4.6f, 6, false};
    struct vv_super s;
    vv_fit_super(&levels, &trials, x, 16, -32, &s);
    memset(to, 0, 108);
    for (int i = 0; i < 256; i++) {
        int place = i / 128 * 32 + i % 32, part = i / 32;
        to[i % 32] = (uint8_t)(to[i % 32] | (s.code[i] >> 2) << part);
        to[32 + place] = (uint8_t)(to[32 + place] | (s.code[i] & 3) << 2 * (part % 4));
    }
    for (int g = 0; g < 16; g++) {
        int sub = s.sub[g] + 32;
        to[96 + g % 8] = (uint8_t)(to[96 + g % 8] | (sub & 15) << 4 * (g / 8));
        to[104 + g % 4] = (uint8_t)(to[104 + g % 4] | (sub >> 4) << 2 * (g / 4));
    }
    vv_store16(to + 108, s.scale);
}

void vv_encode_q3_k(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i += 256) {
        encode_block(x + i, (uint8_t *)blocks + i / 256 * 110);
    }
}
