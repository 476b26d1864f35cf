/* The formula of contract.h, step by step. */
#include "op/gemv/internal.h"
#include "op/plain.h"
#include "quant/format.h"

static float super_block(const struct vv_format *f, const struct vv_segment *w, const int8_t *q,
                         float dx, const int16_t *sum16) {
    int32_t dot = 0, sum = 0;
    for (int i = 0; i < 128; i++) {
        dot += w->scale[i / 16] * w->w[i] * q[i];
    }
    float s = (w->d * dx) * (float)dot;
    if (f->has_offset) {
        for (int k = 0; k < 8; k++) {
            sum += w->min[k] * sum16[k];
        }
        s = fmaf(-(w->dmin * dx), (float)sum, s);
    }
    return s;
}

static float block(const struct vv_format *f, const struct vv_segment *w, size_t values,
                   const int8_t *q, const float *dx, const int16_t *sum16) {
    float s = 0.0f;
    for (size_t b = 0; b * f->step < values; b++) {
        size_t at = b * f->step;
        int32_t dot = 0;
        for (size_t i = at; i < at + f->step; i++) {
            dot += w->w[i] * q[i];
        }
        s = fmaf(w->step_d[b] * dx[at / 32], (float)dot, s);
        if (f->has_offset) {
            int32_t sum = sum16[at / 16] + sum16[at / 16 + 1];
            s = fmaf(w->step_m[b] * dx[at / 32], (float)sum, s);
        }
    }
    return s;
}

static float quantised(const struct vv_format *f, const uint8_t *row, const struct vv_planes *x,
                       size_t r) {
    size_t width = x->width, segments = (width + 127) / 128;
    float y = 0.0f;
    for (size_t s = 0; s < segments; s++) {
        size_t first = 128 * s, values = width - first < 128 ? width - first : 128;
        size_t at = r * width + first;
        struct vv_segment w;
        f->unpack(row, f->block_bytes, s, values, &w);
        if (f->arithmetic == VV_ARITHMETIC_SUPER) {
            y += super_block(f, &w, x->coarse_q + at, x->coarse_scale[r * segments + s],
                             x->coarse_sum16 + at / 16);
        } else {
            y += block(f, &w, values, x->fine_q + at, x->fine_scale + at / 32,
                       x->fine_sum16 + at / 16);
        }
    }
    return y;
}

static float decoded(const struct vv_format *f, const uint8_t *row, const struct vv_planes *x,
                     size_t r) {
    float y = 0.0f, w[256]; /* the largest block */
    for (size_t at = 0; at < x->width; at += 256) {
        size_t n = x->width - at < 256 ? x->width - at : 256;
        f->decode(row + at / f->block_values * f->block_bytes, w, n);
        for (size_t first = 0; first < n; first += 128) {
            size_t values = n - first < 128 ? n - first : 128;
            y += vv_plain_dot(w + first, x->x + r * x->width + at + first, values);
        }
    }
    return y;
}

int vv_gemv_reference(const void *args, size_t begin, size_t end) {
    const struct vv_gemv *a = args;
    const struct vv_weight *w = a->weight;
    const struct vv_format *f = vv_format(w->type);
    bool floats = a->x.float_only || f->arithmetic == VV_ARITHMETIC_FLOAT;
    for (size_t o = begin; o < end; o++) {
        const uint8_t *row = w->data + o * w->row_bytes;
        for (size_t r = 0; r < vv_rows(a->rows); r++) {
            float y = floats ? decoded(f, row, &a->x, r) : quantised(f, row, &a->x, r);
            if (w->scale) {
                y = y * w->scale[0];
            }
            if (!isfinite(y)) {
                return VV_ERROR_NOT_FINITE;
            }
            a->y[r * a->y_row + o] = y;
        }
    }
    return VV_OK;
}
