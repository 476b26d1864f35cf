#include "base/half.h"
#include "quant/encode.h"
#include "quant/fit.h"

#include <math.h>

/* Twice the values of the E2M1 codes in ascending order; the code of place p is p - 7, with the
 * sign in bit 3. */
static const int8_t doubled[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};

static float power_of_two(int exponent) {
    return vv_from_bits((uint32_t)(exponent + 127) << 23);
}

/* The largest magnitude's power of two; that of the smallest normal number below it. */
static int exponent_of(const float *x /* [32] */) {
    float peak = 0;
    for (int i = 0; i < 32; i++) {
        peak = vv_larger(peak, fabsf(x[i]));
    }
    int biased = (int)(vv_bits(peak) >> 23);
    return (biased ? biased : 1) - 127;
}

/* The scale is one of two powers of two, which bring the largest magnitude, 1 to 2 times its own
 * power, to 8 … 16 or 4 … 8; the largest code stands for 12. Errors are compared among values over
 * that power: their squares fit a float, whatever the values. */
static void encode_block(const struct vv_levels *levels, const float *x /* [32] */, uint8_t *to) {
    int exponent = exponent_of(x);
    float y[32];
    uint8_t place[32];
    for (int i = 0; i < 32; i++) {
        y[i] = x[i] * (exponent > 126 ? 0x1p-127f : power_of_two(-exponent));
    }
    bool fine = exponent >= -125 && /* or the scale would be below 2^-128 */
                vv_fit_sums(levels, y, 32, 0.125f, 0).rr < vv_fit_sums(levels, y, 32, 0.25f, 0).rr;
    vv_fit_codes(levels, y, 32, fine ? 0.125f : 0.25f, 0, place);
    to[0] = (uint8_t)(exponent + 128 - (fine ? 3 : 2)); /* 2^(this - 128) */
    for (int i = 0; i < 32; i++) {
        place[i] = (uint8_t)(place[i] < 7 ? 8 + 7 - place[i] : place[i] - 7);
    }
    vv_store_nibbles(to + 1, place);
}

void vv_encode_mxfp4(const float *x, void *blocks, size_t values) {
    const struct vv_levels levels = vv_levels_of_table(doubled, 15);
    for (size_t i = 0; i < values; i += 32) {
        encode_block(&levels, x + i, (uint8_t *)blocks + i / 32 * 17);
    }
}
