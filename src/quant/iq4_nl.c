#include "quant/encode.h"
#include "quant/fit.h"
#include "quant/tables.h"

void vv_encode_iq4_nl(const float *x, void *blocks, size_t values) {
    const struct vv_levels levels = vv_levels_of_table(vv_iq4nl_values, 16);
    static const struct vv_trials trials = {104, 136, 5, true};
    uint8_t *to = blocks, code[32];
    for (size_t i = 0; i < values; i += 32, to += 18) {
        vv_store16(to, vv_fit_block(&levels, &trials, x + i, code));
        vv_store_nibbles(to + 2, code);
    }
}
