#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "op/plain.h"
#include "op/plain_product.h"

int vv_hyper_norm_reference(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_norm *a = args;
    for (size_t stream = begin; stream < end; stream++) {
        size_t row = stream / a->streams, s = stream % a->streams;
        float *x = a->x + stream * a->width;
        for (size_t i = 0; a->o && i < a->width; i++) {
            x[i] = fmaf(a->gamma[row * a->streams + s], a->o[row * a->width + i], x[i]);
        }
        float sum = vv_plain_dot(x, x, a->width);
        if (!isfinite(sum)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inv = 1.0f / sqrtf(sum / (float)a->width + a->eps);
        for (size_t i = 0; i < a->width; i++) {
            a->h[stream * a->width + i] = (x[i] * inv) * a->weight[s * a->width + i];
        }
    }
    return VV_OK;
}

int vv_hyper_down_reference(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_down *a = args;
    size_t rank = a->down->rows;
    for (size_t unit = begin; unit < end; unit++) {
        for (size_t row = 0; row < vv_rows(a->rows); row++) {
            float y;
            int error = unit < rank ? vv_plain_product(a->down, 0, unit, &a->h, row, &y)
                                    : vv_plain_product(a->inject, 0, unit - rank, &a->h, row, &y);
            if (error != VV_OK) {
                return error;
            }
            y = y / (float)a->streams;
            if (unit < rank) {
                a->a[row * rank + unit] = vv_silu(y);
            } else {
                a->gamma[row * a->streams + unit - rank] = 2.0f * vv_sigmoid(y);
            }
        }
    }
    return VV_OK;
}

static int mean_of_gated(const struct vv_hyper_up *a, size_t row, size_t i, float *u) {
    float sum = 0.0f;
    for (size_t s = 0; s < a->streams; s++) {
        float y;
        int error = vv_plain_product(a->up, 0, s * a->width + i, &a->a, row, &y);
        if (error != VV_OK) {
            return error;
        }
        sum = fmaf(vv_sigmoid(y), a->h[(row * a->streams + s) * a->width + i], sum);
    }
    *u = sum / (float)a->streams;
    return VV_OK;
}

int vv_hyper_up_reference(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_up *a = args;
    int error = VV_OK;
    for (size_t i = begin; i < end && error == VV_OK; i++) {
        for (size_t row = 0; row < vv_rows(a->rows) && error == VV_OK; row++) {
            error = mean_of_gated(a, row, i, &a->u[row * a->width + i]);
        }
    }
    return error;
}
