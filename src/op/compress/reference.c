#include "op/compress/internal.h"
#include "op/plain.h"

static float pooled(const struct vv_candidate *c, size_t n, size_t d) {
    float most = -INFINITY, sum = 0.0f, y = 0.0f;
    for (size_t j = 0; j < n; j++) {
        most = fmaxf(most, c[j].g[d] + c[j].ape[d]);
    }
    for (size_t j = 0; j < n; j++) {
        float e = vv_exp((c[j].g[d] + c[j].ape[d]) - most);
        sum += e;
        y = fmaf(e, c[j].k[d], y);
    }
    return y * (1.0f / sum);
}

static void rotate(float *x, size_t dims, const uint64_t *turn, uint64_t position) {
    for (size_t i = 0; i < dims / 2; i++) {
        float even = x[2 * i], odd = x[2 * i + 1], s, c;
        vv_sincos_turn(position * turn[i], &s, &c);
        x[2 * i] = fmaf(even, c, -(odd * s));
        x[2 * i + 1] = fmaf(odd, c, even * s);
    }
}

int vv_compress_reference(const void *args, size_t begin, size_t end) {
    const struct vv_compress_rows *a = args;
    for (size_t row = begin; row < end; row++) {
        struct vv_candidate candidate[VV_COMPRESS_MOST];
        float *y = a->y + row * a->width;
        if (!vv_compress_completes(a, row)) {
            continue;
        }
        size_t n = vv_compress_candidates(a, row, candidate);
        for (size_t d = 0; d < a->width; d++) {
            y[d] = pooled(candidate, n, d);
        }
        float squares = vv_plain_dot(y, y, a->width);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)a->width + a->eps);
        for (size_t d = 0; d < a->width; d++) {
            y[d] = (y[d] * inverse) * a->norm[d];
        }
        rotate(y + a->width - a->dims, a->dims, a->turn,
               (uint64_t)a->window->position[row] + 1 - a->ratio);
    }
    return VV_OK;
}
