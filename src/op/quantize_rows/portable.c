/*
 * Loops that compilers turn into vectors. The largest magnitude is that of the bit patterns, so
 * that one comparison finds NaN too. Adding 1.5 * 2^23 to a number of at most 127 rounds it to an
 * integer, ties to even, and leaves that integer in the low bits; the product was rounded before.
 */
#include "base/isa.h"
#include "base/math.h"
#include "op/quantize_rows/internal.h"
#include <string.h>

/* Returns whether the unit is in range. `n` is a constant where it matters. */
static inline bool quantise(const float *restrict x, size_t n, int8_t *restrict q,
                            float *restrict scale, int16_t *restrict sum16) {
    const float round = 0x1.8p+23f;
    uint32_t top = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = vv_bits(x[i]) & 0x7fffffffu;
        top = magnitude > top ? magnitude : top;
    }
    if (top >= vv_bits(0x1p+80f)) {
        return false;
    }
    float amax = vv_from_bits(top), inv = 127.0f / amax;
    *scale = amax / 127.0f;
    if (top < vv_bits(0x1p-60f)) {
        *scale = inv = 0.0f;
    }
    for (size_t i = 0; i < n; i++) {
        q[i] = (int8_t)(int32_t)(vv_bits(x[i] * inv + round) - vv_bits(round));
    }
    for (size_t k = 0; k < n / 16; k++) {
        int16_t sum = 0;
        for (size_t i = 16 * k; i < 16 * k + 16; i++) {
            sum = (int16_t)(sum + q[i]);
        }
        sum16[k] = sum;
    }
    return true;
}

static bool quantise_coarse(const struct vv_planes *p, struct vv_row_segment s) {
    size_t segments = vv_plane_scales(p->width, VV_COARSE_UNIT);
    const float *x = p->x + s.at;
    float *scale = p->coarse_scale + s.row * segments + s.segment;
    int16_t *sum16 = p->coarse_sum16 + s.at / 16;
    if (s.values == 128) {
        return quantise(x, 128, p->coarse_q + s.at, scale, sum16);
    }
    return quantise(x, s.values, p->coarse_q + s.at, scale, sum16);
}

static bool quantise_fine(const struct vv_planes *p, struct vv_row_segment s) {
    for (size_t i = s.at; i < s.at + s.values; i += 32) {
        if (!quantise(p->x + i, 32, p->fine_q + i, p->fine_scale + i / 32,
                      p->fine_sum16 + i / 16)) {
            return false;
        }
    }
    return true;
}

int VV_ISA(vv_quantize_rows_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_planes *p = &((const struct vv_quantize_rows *)args)->planes;
    for (size_t u = begin; u < end; u++) {
        struct vv_row_segment s = vv_row_segment(p->width, u);
        if ((p->coarse_q && !quantise_coarse(p, s)) || (p->fine_q && !quantise_fine(p, s))) {
            return VV_ERROR_NOT_FINITE;
        }
    }
    return VV_OK;
}
