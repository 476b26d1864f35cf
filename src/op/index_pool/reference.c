#include "op/index_pool/internal.h"
#include "op/plain.h"

static int pool(const struct vv_index_pool *a, size_t row) {
    int64_t first = a->window->position[row] + 1 - (int64_t)a->ratio;
    float *y = vv_state_at(&a->pooled, a->window->slot[row], first / (int64_t)a->ratio);
    for (size_t i = 0; i < a->width; i++) {
        float sum = 0.0f;
        for (size_t t = 0; t < a->ratio; t++) {
            sum += vv_index_raw_key(a, row, a->ratio - 1 - t)[i];
        }
        y[i] = sum / (float)a->ratio;
    }
    float squares = vv_plain_dot(y, y, a->width);
    if (!isfinite(squares)) {
        return VV_ERROR_NOT_FINITE;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a->width + a->eps);
    for (size_t i = 0; i < a->width; i++) {
        y[i] = (y[i] * inverse) * a->norm[i];
    }
    for (size_t i = 0, j = a->dims / 2; i < a->dims / 2; i++, j++) {
        float sine, cosine, low = y[i], high = y[j];
        vv_sincos_turn((uint64_t)first * a->turn[i], &sine, &cosine);
        y[i] = fmaf(low, cosine, -(high * sine));
        y[j] = fmaf(high, cosine, low * sine);
    }
    return VV_OK;
}

int vv_index_pool_reference(const void *args, size_t begin, size_t end) {
    const struct vv_index_pool *a = args;
    for (size_t row = begin; row < end; row++) {
        if (((size_t)a->window->position[row] + 1) % a->ratio == 0) {
            int error = pool(a, row);
            if (error != VV_OK) {
                return error;
            }
        }
    }
    return VV_OK;
}
