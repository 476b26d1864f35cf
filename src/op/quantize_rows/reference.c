/* The formula of contract.h, step by step. */
#include "base/math.h"
#include "op/quantize_rows/internal.h"

static int unit(const float *x, size_t n, int8_t *q, float *scale, int16_t *sum16) {
    float amax = 0.0f, inv = 0.0f;
    for (size_t i = 0; i < n; i++) {
        if (!(fabsf(x[i]) < 0x1p+80f)) {
            return VV_ERROR_NOT_FINITE;
        }
        amax = fmaxf(amax, fabsf(x[i]));
    }
    *scale = 0.0f;
    if (amax >= 0x1p-60f) {
        *scale = amax / 127.0f;
        inv = 127.0f / amax;
    }
    for (size_t i = 0; i < n; i++) {
        float scaled = x[i] * inv;
        q[i] = (int8_t)rintf(scaled);
    }
    for (size_t i = 0; i < n; i += 16) {
        int sum = 0;
        for (size_t j = i; j < i + 16; j++) {
            sum += q[j];
        }
        sum16[i / 16] = (int16_t)sum;
    }
    return VV_OK;
}

int vv_quantize_rows_reference(const void *args, size_t begin, size_t end) {
    const struct vv_quantize_rows *a = args;
    const struct vv_planes *p = &a->planes;
    size_t rows = vv_rows(a->rows);
    size_t segments = vv_plane_scales(p->width, VV_COARSE_UNIT);
    for (size_t u = begin; u < end; u++) {
        struct vv_row_segment s = vv_row_segment(p->width, u);
        int error = VV_OK;
        if (p->coarse_q) {
            error =
                unit(p->x + s.at, s.values, p->coarse_q + s.at,
                     p->coarse_scale + s.row * segments + s.segment, p->coarse_sum16 + s.at / 16);
        }
        for (size_t i = s.at; p->fine_q && error == VV_OK && i < s.at + s.values; i += 32) {
            error =
                unit(p->x + i, 32, p->fine_q + i, p->fine_scale + i / 32, p->fine_sum16 + i / 16);
        }
        if (error != VV_OK) {
            return error;
        }
        vv_panel_rows_of(p, rows, s);
    }
    return VV_OK;
}
