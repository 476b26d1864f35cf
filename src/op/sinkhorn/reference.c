#include "op/plain.h"
#include "op/sinkhorn/internal.h"

static void softmax_row(float *row, size_t n, float floor) {
    float most = -INFINITY, sum = 0.0f;
    for (size_t t = 0; t < n; t++) {
        most = fmaxf(most, row[t]);
    }
    for (size_t t = 0; t < n; t++) {
        row[t] = vv_exp(row[t] - most);
        sum += row[t];
    }
    for (size_t t = 0; t < n; t++) {
        row[t] = row[t] / sum + floor;
    }
}

/* `count` numbers that lie `apart`, divided by their sum and the floor. */
static void divide(float *at, size_t count, size_t apart, float floor) {
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        sum += at[i * apart];
    }
    sum += floor;
    for (size_t i = 0; i < count; i++) {
        at[i * apart] /= sum;
    }
}

static void balance(float *c, size_t n, size_t rounds, float floor) {
    for (size_t s = 0; s < n; s++) {
        softmax_row(c + s * n, n, floor);
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t s = 0; round > 0 && s < n; s++) {
            divide(c + s * n, n, 1, floor);
        }
        for (size_t t = 0; t < n; t++) {
            divide(c + t, n, n, floor);
        }
    }
}

int vv_sinkhorn_reference(const void *args, size_t begin, size_t end) {
    const struct vv_sinkhorn *a = args;
    size_t n = a->streams, all = n * a->width;
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * all, *mix = a->mix + row * vv_sinkhorn_mixes(a);
        float squares = vv_plain_dot(x, x, all);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)all + a->eps);
        for (size_t s = 0; s < n; s++) {
            float m = mix[s] * inverse;
            a->pre[row * n + s] = vv_sigmoid(fmaf(m, a->scale[0], a->base[s])) + a->floor;
        }
        for (size_t s = 0; a->post && s < n; s++) {
            float m = mix[n + s] * inverse;
            a->post[row * n + s] = 2.0f * vv_sigmoid(fmaf(m, a->scale[1], a->base[n + s]));
        }
        for (size_t i = 0; a->post && i < n * n; i++) {
            float m = mix[2 * n + i] * inverse;
            a->to[row * n * n + i] = fmaf(m, a->scale[2], a->base[2 * n + i]);
        }
        if (a->post) {
            balance(a->to + row * n * n, n, a->rounds, a->floor);
        }
    }
    return VV_OK;
}

int vv_stream_read_reference(const void *args, size_t begin, size_t end) {
    const struct vv_stream_read *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        struct vv_columns c = vv_columns_of(unit, a->width);
        for (size_t i = c.at; i < c.at + c.count; i++) {
            float u = 0.0f;
            for (size_t s = 0; s < a->streams; s++) {
                size_t stream = c.row * a->streams + s;
                u = fmaf(a->pre[stream], a->x[stream * a->width + i], u);
            }
            a->u[c.row * a->width + i] = u;
        }
    }
    return VV_OK;
}

int vv_stream_write_reference(const void *args, size_t begin, size_t end) {
    const struct vv_stream_write *a = args;
    size_t n = a->streams;
    for (size_t unit = begin; unit < end; unit++) {
        struct vv_columns c = vv_columns_of(unit, a->width);
        for (size_t i = c.at; i < c.at + c.count; i++) {
            float *x = a->x + c.row * n * a->width + i, before[VV_STREAMS_MAX];
            for (size_t s = 0; s < n; s++) {
                before[s] = x[s * a->width];
            }
            for (size_t t = 0; t < n; t++) {
                float sum = 0.0f;
                for (size_t s = 0; s < n; s++) {
                    sum = fmaf(a->to[(c.row * n + s) * n + t], before[s], sum);
                }
                x[t * a->width] = fmaf(a->post[c.row * n + t], a->y[c.row * a->width + i], sum);
            }
        }
    }
    return VV_OK;
}
