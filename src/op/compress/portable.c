/* Blocks of channels, whose sums stay in the first cache over all candidates. */
#include "base/dot.h"
#include "base/isa.h"
#include "op/compress/internal.h"

enum { CHANNELS = 64 };

/* Channels at .. at + n - 1. */
static void pool(const struct vv_candidate *c, size_t count, size_t at, size_t n, float *y) {
    float most[CHANNELS], sum[CHANNELS] = {0}, o[CHANNELS] = {0};
    for (size_t i = 0; i < n; i++) {
        most[i] = -INFINITY;
    }
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < n; i++) {
            float g = c[j].g[at + i] + c[j].ape[at + i];
            most[i] = g > most[i] ? g : most[i];
        }
    }
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < n; i++) {
            float e = vv_exp((c[j].g[at + i] + c[j].ape[at + i]) - most[i]);
            sum[i] += e;
            o[i] = fmaf(e, c[j].k[at + i], o[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        y[at + i] = o[i] * (1.0f / sum[i]);
    }
}

static void rotate(const struct vv_compress_rows *a, uint64_t position, float *x) {
    for (size_t i = 0; i < a->dims; i += 2) {
        float even = x[i], odd = x[i + 1], s, c;
        vv_sincos_turn(position * a->turn[i / 2], &s, &c);
        x[i] = fmaf(even, c, -(odd * s));
        x[i + 1] = fmaf(odd, c, even * s);
    }
}

int VV_ISA(vv_compress_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_compress_rows *a = args;
    for (size_t row = begin; row < end; row++) {
        struct vv_candidate candidate[VV_COMPRESS_MOST];
        float *y = a->y + row * a->width;
        if (!vv_compress_completes(a, row)) {
            continue;
        }
        size_t n = vv_compress_candidates(a, row, candidate);
        for (size_t at = 0; at < a->width; at += CHANNELS) {
            pool(candidate, n, at, a->width - at < CHANNELS ? a->width - at : CHANNELS, y);
        }
        float squares = vv_dot(y, y, a->width);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)a->width + a->eps);
        for (size_t i = 0; i < a->width; i++) {
            y[i] = (y[i] * inverse) * a->norm[i];
        }
        rotate(a, (uint64_t)a->window->position[row] + 1 - a->ratio, y + a->width - a->dims);
    }
    return VV_OK;
}
