/* F32, F16, BF16: each value rounded to the nearest even. */
#include "base/half.h"
#include "quant/encode.h"

void vv_encode_f32(const float *x, void *blocks, size_t values) {
    memcpy(blocks, x, values * sizeof *x);
}

void vv_encode_f16(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i++) {
        vv_store16((uint8_t *)blocks + 2 * i, vv_to_f16(x[i]));
    }
}

void vv_encode_bf16(const float *x, void *blocks, size_t values) {
    for (size_t i = 0; i < values; i++) {
        vv_store16((uint8_t *)blocks + 2 * i, vv_to_bf16(x[i]));
    }
}
