#include "op/cache_round/internal.h"

/* The magnitude of a code with `mantissa` bits of mantissa and steps of 2^-`least` at the low end.
 */
static float value_of(int code, int mantissa, int least) {
    int field = code >> mantissa, low = code & ((1 << mantissa) - 1);
    return field ? ldexpf((float)(low + (1 << mantissa)), field - 1 - least)
                 : ldexpf((float)low, -least);
}

/* The code nearest to v, the even one of two, among 0 .. last. */
static int nearest(float v, int mantissa, int least, int last) {
    int best = 0;
    for (int code = 1; code <= last; code++) {
        float was = fabsf(v - value_of(best, mantissa, least));
        float is = fabsf(v - value_of(code, mantissa, least));
        best = is < was || (is == was && code % 2 == 0) ? code : best;
    }
    return best;
}

/* The smallest power of two that brings the block's largest magnitude to `most`, or 0: the values
 * are out of range. */
static float scale_of(const float *x, size_t n, float floor, float most) {
    float largest = floor;
    for (size_t i = 0; i < n; i++) {
        if (!(fabsf(x[i]) < 0x1p80f)) {
            return 0;
        }
        largest = fmaxf(largest, fabsf(x[i]));
    }
    float s = 0x1p-126f;
    while (largest / s > most) {
        s *= 2;
    }
    return s;
}

static int round_block(float *x, size_t n) {
    float s = scale_of(x, n, 1e-4f, 448);
    if (s == 0) {
        return VV_ERROR_NOT_FINITE;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = copysignf(s * value_of(nearest(fabsf(x[i]) / s, 3, 9, 0x7e), 3, 9), x[i]);
    }
    return VV_OK;
}

int vv_round_fp8_reference(const void *args, size_t begin, size_t end) {
    const struct vv_round_fp8 *a = args;
    int error = VV_OK;
    for (size_t row = begin; row < end; row++) {
        float *x = a->x + row * a->stride;
        bool wanted = vv_completes(a->window, row, a->ratio);
        for (size_t at = 0; wanted && at < a->width && error == VV_OK; at += VV_FP8_BLOCK) {
            size_t left = a->width - at;
            error = round_block(x + at, left < VV_FP8_BLOCK ? left : VV_FP8_BLOCK);
        }
    }
    return error;
}

static void hadamard(float *x, size_t n) {
    for (size_t stride = 1; stride < n; stride *= 2) {
        for (size_t i = 0; i < n; i++) {
            if ((i & stride) == 0) {
                float left = x[i], right = x[i + stride];
                x[i] = left + right;
                x[i + stride] = left - right;
            }
        }
    }
    float unit = (float)(1 / sqrt((double)n));
    for (size_t i = 0; i < n; i++) {
        x[i] *= unit;
    }
}

static int encode(const float *x, uint8_t *to) {
    float s = scale_of(x, VV_FP4_BLOCK, 6 * 0x1p-126f, 6);
    if (s == 0) {
        return VV_ERROR_NOT_FINITE;
    }
    int code[VV_FP4_BLOCK];
    for (size_t i = 0; i < VV_FP4_BLOCK; i++) {
        code[i] = nearest(fabsf(x[i]) / s, 1, 1, 7) | (signbit(x[i]) ? 8 : 0);
    }
    to[0] = (uint8_t)(ilogbf(s) + 127);
    for (size_t i = 0; i < VV_FP4_BLOCK / 2; i++) {
        to[1 + i] = (uint8_t)(code[i] | code[i + VV_FP4_BLOCK / 2] << 4);
    }
    return VV_OK;
}

int vv_round_fp4_reference(const void *args, size_t begin, size_t end) {
    const struct vv_round_fp4 *a = args;
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK; unit++) {
        size_t row = unit / a->heads, head = unit % a->heads;
        if (!vv_completes(a->window, row, a->ratio)) {
            continue;
        }
        float x[VV_FP4_WIDTH_MAX];
        memcpy(x, a->x + row * a->stride + head * a->width, a->width * sizeof *x);
        hadamard(x, a->width);
        uint8_t *y = vv_fp4_row(a, row, head);
        for (size_t at = 0; at < a->width && error == VV_OK; at += VV_FP4_BLOCK) {
            error = encode(x + at, y + at / VV_FP4_BLOCK * VV_FP4_BYTES);
        }
    }
    return error;
}
