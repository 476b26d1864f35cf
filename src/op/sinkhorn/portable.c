/*
 * The matrix lies with its columns side by side, padded to a constant width, so that a loop over
 * all destinations is one vector operation or two; sums over sources then need no shuffles, and
 * sums along a row are taken of a transposed copy. Streams are taken in blocks of columns that stay
 * in registers or the first cache.
 */
#include "base/dot.h"
#include "base/isa.h"
#include "op/sinkhorn/internal.h"

enum { MOST = VV_STREAMS_MAX, COLUMNS = VV_STREAM_COLUMNS };

typedef float matrix[MOST][MOST];

static void transpose(const matrix from, size_t n, matrix to) {
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < n; t++) {
            to[t][s] = from[s][t];
        }
    }
}

/* Every column over its sum and the floor. */
static void divide_columns(matrix c, size_t n, float floor) {
    float sum[MOST] = {0};
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < MOST; t++) {
            sum[t] += c[s][t];
        }
    }
    for (size_t t = 0; t < MOST; t++) {
        sum[t] = t < n ? sum[t] + floor : 1.0f;
    }
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < MOST; t++) {
            c[s][t] /= sum[t];
        }
    }
}

static void softmax_rows(matrix c, size_t n, float floor) {
    for (size_t s = 0; s < n; s++) {
        float most = c[s][0], sum = 0.0f;
        for (size_t t = 1; t < n; t++) {
            most = c[s][t] > most ? c[s][t] : most;
        }
        for (size_t t = 0; t < n; t++) {
            c[s][t] = vv_exp(c[s][t] - most);
        }
        for (size_t t = 0; t < n; t++) {
            sum += c[s][t];
        }
        for (size_t t = 0; t < n; t++) {
            c[s][t] = c[s][t] / sum + floor;
        }
    }
}

/* `c` [n][n] becomes the mixing matrix. */
static void balance(float *c, size_t n, size_t rounds, float floor) {
    matrix by_row = {{0}}, by_column = {{0}};
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < n; t++) {
            by_row[s][t] = c[s * n + t];
        }
    }
    softmax_rows(by_row, n, floor);
    divide_columns(by_row, n, floor);
    for (size_t round = 1; round < rounds; round++) {
        transpose((const float(*)[MOST])by_row, n, by_column);
        divide_columns(by_column, n, floor);
        transpose((const float(*)[MOST])by_column, n, by_row);
        divide_columns(by_row, n, floor);
    }
    for (size_t s = 0; s < n; s++) {
        for (size_t t = 0; t < n; t++) {
            c[s * n + t] = by_row[s][t];
        }
    }
}

int VV_ISA(vv_sinkhorn_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_sinkhorn *a = args;
    size_t n = a->streams, all = n * a->width;
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * all, *mix = a->mix + row * vv_sinkhorn_mixes(a);
        float squares = vv_dot(x, x, all);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)all + a->eps), *pre = a->pre + row * n;
        for (size_t s = 0; s < n; s++) {
            pre[s] = vv_sigmoid(fmaf(mix[s] * inverse, a->scale[0], a->base[s])) + a->floor;
        }
        if (!a->post) {
            continue;
        }
        float *post = a->post + row * n, *c = a->to + row * n * n;
        for (size_t s = n; s < 2 * n; s++) {
            post[s - n] = 2.0f * vv_sigmoid(fmaf(mix[s] * inverse, a->scale[1], a->base[s]));
        }
        for (size_t i = 2 * n; i < 2 * n + n * n; i++) {
            c[i - 2 * n] = fmaf(mix[i] * inverse, a->scale[2], a->base[i]);
        }
        balance(c, n, a->rounds, a->floor);
    }
    return VV_OK;
}

int VV_ISA(vv_stream_read_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_stream_read *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        struct vv_columns c = vv_columns_of(unit, a->width);
        float u[COLUMNS] = {0};
        for (size_t s = 0; s < a->streams; s++) {
            size_t stream = c.row * a->streams + s;
            const float *x = a->x + stream * a->width + c.at;
            for (size_t i = 0; i < c.count; i++) {
                u[i] = fmaf(a->pre[stream], x[i], u[i]);
            }
        }
        memcpy(a->u + c.row * a->width + c.at, u, c.count * sizeof *u);
    }
    return VV_OK;
}

int VV_ISA(vv_stream_write_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_stream_write *a = args;
    size_t n = a->streams;
    for (size_t unit = begin; unit < end; unit++) {
        struct vv_columns c = vv_columns_of(unit, a->width);
        float *x = a->x + c.row * n * a->width + c.at, before[MOST][COLUMNS];
        const float *y = a->y + c.row * a->width + c.at, *to = a->to + c.row * n * n;
        for (size_t s = 0; s < n; s++) {
            memcpy(before[s], x + s * a->width, c.count * sizeof *x);
        }
        for (size_t t = 0; t < n; t++) {
            float sum[COLUMNS] = {0}, post = a->post[c.row * n + t];
            for (size_t s = 0; s < n; s++) {
                for (size_t i = 0; i < c.count; i++) {
                    sum[i] = fmaf(to[s * n + t], before[s][i], sum[i]);
                }
            }
            for (size_t i = 0; i < c.count; i++) {
                x[t * a->width + i] = fmaf(post, y[i], sum[i]);
            }
        }
    }
    return VV_OK;
}
