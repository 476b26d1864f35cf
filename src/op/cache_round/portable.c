/* Blocks of constant length without a branch in them, so that compilers turn each step into
 * vectors. */
#include "base/isa.h"
#include "op/cache_round/internal.h"

static uint32_t peak(const float *x, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = vv_bits(x[i]) & 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

static int round_block(float *x, size_t n) {
    uint32_t a = peak(x, n), field = vv_e4m3_field(a);
    if (vv_round_refuses(a)) {
        return VV_ERROR_NOT_FINITE;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = vv_e4m3_round(x[i], field);
    }
    return VV_OK;
}

int VV_ISA(vv_round_fp8_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_round_fp8 *a = args;
    int error = VV_OK;
    for (size_t row = begin; row < end && error == VV_OK; row++) {
        float *x = a->x + row * a->stride;
        size_t width = vv_completes(a->window, row, a->ratio) ? a->width : 0, at = 0;
        for (; at + VV_FP8_BLOCK <= width && error == VV_OK; at += VV_FP8_BLOCK) {
            error = round_block(x + at, VV_FP8_BLOCK);
        }
        if (at < width && error == VV_OK) {
            error = round_block(x + at, width - at);
        }
    }
    return error;
}

/* The passes within 16 values work on registers. */
static void hadamard(float *restrict x, size_t n, float unit) {
    for (size_t at = 0; at < n; at += 16) {
        for (size_t stride = 1; stride < 16; stride *= 2) {
            float y[16];
            for (size_t i = 0; i < 16; i++) {
                float own = x[at + i], other = x[at + (i ^ stride)];
                y[i] = i & stride ? other - own : own + other;
            }
            memcpy(x + at, y, sizeof y);
        }
    }
    for (size_t stride = 16; stride < n; stride *= 2) {
        for (size_t at = 0; at < n; at += 2 * stride) {
            for (size_t i = at; i < at + stride; i++) {
                float left = x[i], right = x[i + stride];
                x[i] = left + right;
                x[i + stride] = left - right;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        x[i] *= unit;
    }
}

static int encode(const float *x, uint8_t *to) {
    uint32_t a = peak(x, VV_FP4_BLOCK), field = vv_e2m1_field(a);
    if (vv_round_refuses(a)) {
        return VV_ERROR_NOT_FINITE;
    }
    uint32_t code[VV_FP4_BLOCK];
    for (size_t i = 0; i < VV_FP4_BLOCK; i++) {
        code[i] = vv_e2m1_code(x[i], field);
    }
    to[0] = (uint8_t)field;
    for (size_t i = 0; i < VV_FP4_BLOCK / 2; i++) {
        to[1 + i] = (uint8_t)(code[i] | code[i + VV_FP4_BLOCK / 2] << 4);
    }
    return VV_OK;
}

int VV_ISA(vv_round_fp4_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_round_fp4 *a = args;
    const float root = (float)(1 / sqrt((double)a->width));
    int error = VV_OK;
    for (size_t unit = begin; unit < end && error == VV_OK; unit++) {
        size_t row = unit / a->heads, head = unit % a->heads;
        if (!vv_completes(a->window, row, a->ratio)) {
            continue;
        }
        float x[VV_FP4_WIDTH_MAX];
        memcpy(x, a->x + row * a->stride + head * a->width, a->width * sizeof *x);
        hadamard(x, a->width, root);
        uint8_t *y = vv_fp4_row(a, row, head);
        for (size_t at = 0; at < a->width && error == VV_OK; at += VV_FP4_BLOCK) {
            error = encode(x + at, y + at / VV_FP4_BLOCK * VV_FP4_BYTES);
        }
    }
    return error;
}
