#include "quant/encode.h"
#include "quant/fit.h"
#include "quant/tables.h"

static void encode_block(const struct vv_levels *levels, const float *x /* [256] */, uint8_t *to) {
    static const struct vv_trials trials = {104, 136, 5, true};
    struct vv_super s;
    vv_fit_super(levels, &trials, x, 32, -32, &s);
    memset(to, 0, 8);
    vv_store16(to, s.scale);
    for (int g = 0; g < 8; g++) {
        int sub = s.sub[g] + 32;
        to[2 + g / 4] = (uint8_t)(to[2 + g / 4] | (sub >> 4) << 2 * (g % 4));
        to[4 + g / 2] = (uint8_t)(to[4 + g / 2] | (sub & 15) << 4 * (g % 2));
        vv_store_nibbles(to + 8 + 16 * g, s.code + 32 * g);
    }
}

void vv_encode_iq4_xs(const float *x, void *blocks, size_t values) {
    const struct vv_levels levels = vv_levels_of_table(vv_iq4nl_values, 16);
    for (size_t i = 0; i < values; i += 256) {
        encode_block(&levels, x + i, (uint8_t *)blocks + i / 256 * 136);
    }
}
