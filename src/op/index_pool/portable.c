/* One pass over the entry for each raw key; the walk back through the window is done once a key. */
#include "base/dot.h"
#include "base/isa.h"
#include "op/index_pool/internal.h"

static void mean(const struct vv_index_pool *a, size_t row, float *restrict y) {
    size_t width = a->width;
    float count = (float)a->ratio;
    for (size_t distance = a->ratio; distance-- > 0;) {
        const float *k = vv_index_raw_key(a, row, distance);
        bool oldest = distance == a->ratio - 1;
        for (size_t i = 0; i < width; i++) {
            y[i] = (oldest ? 0.0f : y[i]) + k[i];
        }
    }
    for (size_t i = 0; i < width; i++) {
        y[i] /= count;
    }
}

static void rotate(const struct vv_index_pool *a, uint64_t position, float *y) {
    size_t half = a->dims / 2;
    for (size_t i = 0; i < half; i++) {
        float sine, cosine, low = y[i], high = y[i + half];
        vv_sincos_turn(position * a->turn[i], &sine, &cosine);
        y[i] = fmaf(low, cosine, -(high * sine));
        y[i + half] = fmaf(high, cosine, low * sine);
    }
}

int VV_ISA(vv_index_pool_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_index_pool *a = args;
    for (size_t row = begin; row < end; row++) {
        size_t length = (size_t)a->window->position[row] + 1;
        if (length % a->ratio != 0) {
            continue;
        }
        size_t block = length / a->ratio - 1;
        float *y = vv_state_at(&a->pooled, a->window->slot[row], (int64_t)block);
        mean(a, row, y);
        float squares = vv_dot(y, y, a->width);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)a->width + a->eps);
        for (size_t i = 0; i < a->width; i++) {
            y[i] = (y[i] * inverse) * a->norm[i];
        }
        rotate(a, block * a->ratio, y);
    }
    return VV_OK;
}
