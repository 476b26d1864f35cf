#include "op/gdn_step/internal.h"
#include "op/plain.h"

#include <string.h>

void vv_gdn_delta_reference(float *state, size_t key_dim, size_t value_dim, const float *q,
                            const float *k, const float *v, float decay, float beta, float *y) {
    float column[VV_GDN_KEY_DIM_MAX];
    for (size_t c = 0; c < value_dim; c++) {
        for (size_t i = 0; i < key_dim; i++) {
            column[i] = state[i * value_dim + c] * decay;
        }
        float r = vv_plain_dot(column, k, key_dim);
        float delta = beta * (v[c] - r);
        for (size_t i = 0; i < key_dim; i++) {
            column[i] = fmaf(k[i], delta, column[i]);
            state[i * value_dim + c] = column[i];
        }
        if (y) {
            y[c] = vv_plain_dot(column, q, key_dim);
        }
    }
}

/* qkv of one channel, `distance` positions before a row's own. */
static float input(const struct vv_gdn_step *a, int32_t row, int32_t distance, size_t channel) {
    int32_t position = a->window->position[row] - distance;
    if (position < 0) {
        return 0.0f;
    }
    int32_t source = a->mode == VV_GDN_COMMIT ? -1 : vv_window_back(a->window, row, distance);
    if (source >= 0) {
        return a->qkv[(size_t)source * vv_gdn_channels(a) + channel];
    }
    return ((const float *)vv_state_at(&a->conv_ring, a->window->slot[row], position))[channel];
}

static float convolved(const struct vv_gdn_step *a, int32_t row, size_t channel) {
    float sum = 0.0f;
    for (size_t m = 0; m < a->kernel; m++) {
        float x = input(a, row, (int32_t)(a->kernel - 1 - m), channel);
        sum = fmaf(a->conv[channel * a->kernel + m], x, sum);
    }
    return vv_silu(sum);
}

/* x [key_dim] of the head that begins at `channel`, convolved and scaled to length 1. */
static int unit_vector(const struct vv_gdn_step *a, int32_t row, size_t channel, float *x) {
    for (size_t i = 0; i < a->key_dim; i++) {
        x[i] = convolved(a, row, channel + i);
    }
    float squares = vv_plain_dot(x, x, a->key_dim);
    if (!isfinite(squares)) {
        return VV_ERROR_NOT_FINITE;
    }
    float inverse = 1.0f / sqrtf(squares + a->eps);
    for (size_t i = 0; i < a->key_dim; i++) {
        x[i] *= inverse;
    }
    return VV_OK;
}

static void gates(const struct vv_gdn_step *a, int32_t row, size_t j, float *decay, float *beta) {
    float raw_alpha, raw_beta;
    if (a->mode == VV_GDN_COMMIT) {
        const float *entry =
            vv_state_at(&a->gate_ring, a->window->slot[row], a->window->position[row]);
        raw_alpha = entry[j];
        raw_beta = entry[a->value_heads + j];
    } else {
        raw_alpha = a->alpha[(size_t)row * a->value_heads + j];
        raw_beta = a->beta[(size_t)row * a->value_heads + j];
    }
    *decay = vv_exp(a->a[j] * vv_softplus(raw_alpha + a->dt_bias[j]));
    *beta = vv_sigmoid(raw_beta);
}

static int finish(const struct vv_gdn_step *a, int32_t row, size_t j) {
    size_t at = ((size_t)row * a->value_heads + j) * a->value_dim;
    float *y = a->y + at;
    float squares = vv_plain_dot(y, y, a->value_dim);
    if (!isfinite(squares)) {
        return VV_ERROR_NOT_FINITE;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a->value_dim + a->eps);
    for (size_t v = 0; v < a->value_dim; v++) {
        y[v] = ((y[v] * inverse) * a->norm[v]) * vv_sigmoid(a->z[at + v]);
    }
    return VV_OK;
}

/* One row of value head j; column by column, so that only q̂ and k̂ need room. */
static int step(const struct vv_gdn_step *a, int32_t row, size_t j, float *state) {
    float q[VV_GDN_KEY_DIM_MAX], k[VV_GDN_KEY_DIM_MAX], decay, beta;
    size_t key_head = j % a->key_heads, keys = a->key_heads * a->key_dim;
    float scale = (float)(1 / sqrt((double)a->key_dim));
    int error = unit_vector(a, row, key_head * a->key_dim, q);
    if (error == VV_OK) {
        error = unit_vector(a, row, keys + key_head * a->key_dim, k);
    }
    if (error != VV_OK) {
        return error;
    }
    for (size_t i = 0; i < a->key_dim; i++) {
        q[i] *= scale;
    }
    gates(a, row, j, &decay, &beta);
    for (size_t c = 0; c < a->value_dim; c++) {
        float column[VV_GDN_KEY_DIM_MAX], y;
        float v = convolved(a, row, 2 * keys + j * a->value_dim + c);
        for (size_t i = 0; i < a->key_dim; i++) {
            column[i] = state[i * a->value_dim + c];
        }
        vv_gdn_delta_reference(column, a->key_dim, 1, q, k, &v, decay, beta, &y);
        for (size_t i = 0; i < a->key_dim; i++) {
            state[i * a->value_dim + c] = column[i];
        }
        if (a->mode != VV_GDN_COMMIT) {
            a->y[((size_t)row * a->value_heads + j) * a->value_dim + c] = y;
        }
    }
    return a->mode == VV_GDN_COMMIT ? VV_OK : finish(a, row, j);
}

/* The matrix that the rows move: the slot's own, or in verify mode a copy. */
static float *start(const struct vv_gdn_step *a, size_t sequence, size_t j, int32_t row) {
    size_t n = a->key_dim * a->value_dim;
    float *own = (float *)vv_state_at(&a->state, a->window->slot[row], 0) + j * n;
    float *state = own;
    if (a->mode == VV_GDN_VERIFY) {
        state = a->work + (sequence * a->value_heads + j) * n;
        memcpy(state, own, n * sizeof *state);
    }
    if (a->window->position[row] == 0) {
        memset(state, 0, n * sizeof *state);
    }
    return state;
}

int vv_gdn_step_reference(const void *args, size_t begin, size_t end) {
    const struct vv_gdn_step *a = args;
    if (a->key_dim > VV_GDN_KEY_DIM_MAX || a->kernel > VV_GDN_KERNEL_MAX) {
        return VV_ERROR_UNSUPPORTED;
    }
    for (size_t unit = begin; unit < end; unit++) {
        size_t sequence = unit / a->value_heads, j = vv_gdn_head(a, unit);
        int32_t first = a->window->sequence_begin[sequence];
        int32_t last = a->window->sequence_begin[sequence + 1];
        float *state = NULL;
        for (int32_t i = first; i < last; i++) {
            int32_t row = a->window->sequence_row[i];
            state = i == first ? start(a, sequence, j, row) : state;
            int error = step(a, row, j, state);
            if (error != VV_OK) {
                return error;
            }
        }
    }
    return VV_OK;
}
