#include "base/half.h"
#include "op/index_score/internal.h"
#include "op/plain.h"
#include "quant/format.h"
#include "quant/tables.h"

/* A vector's values as floats. */
static void widen(int type, const void *at, size_t n, float *to) {
    vv_format(type)->decode(at, to, n);
}

static void round_to_half(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        x[i] = vv_from_f16(vv_to_f16(x[i]));
    }
}

static float dot_of_floats(const struct vv_index_score *a, const void *q, const void *key) {
    float left[VV_INDEX_WIDTH_MAX], right[VV_INDEX_WIDTH_MAX];
    widen(a->pooled.type, key, a->width, left);
    widen(a->q_type, q, a->width, right);
    return vv_plain_dot(left, right, a->width);
}

static float dot_of_halves(const struct vv_index_score *a, const void *q, const void *key) {
    float left[VV_INDEX_WIDTH_MAX], right[VV_INDEX_WIDTH_MAX];
    widen(a->pooled.type, key, a->width, left);
    widen(a->q_type, q, a->width, right);
    round_to_half(left, a->width);
    round_to_half(right, a->width);
    return vv_plain_dot(left, right, a->width);
}

/* Code i of an MXFP4 block, doubled. */
static int code(const uint8_t *block, size_t i) {
    uint8_t byte = block[1 + i % 16];
    return vv_e2m1_doubled[i < 16 ? byte & 15 : byte >> 4];
}

static float dot_of_integers(const struct vv_index_score *a, const void *q, const void *key) {
    float z = 0.0f;
    for (size_t b = 0; b < a->width / 32; b++) {
        const uint8_t *left = (const uint8_t *)q + 17 * b, *right = (const uint8_t *)key + 17 * b;
        int dot = 0;
        for (size_t i = 0; i < 32; i++) {
            dot += code(left, i) * code(right, i);
        }
        float step = ldexpf(1, left[0] - 128) * ldexpf(1, right[0] - 128);
        z = fmaf(step, (float)dot, z);
    }
    return z;
}

typedef float dot(const struct vv_index_score *a, const void *q, const void *key);

static float score_of(const struct vv_index_score *a, size_t row, size_t block, dot *product) {
    const void *key = vv_state_at(&a->pooled, a->window->slot[row], (int64_t)block);
    float sum = 0.0f;
    for (size_t h = 0; h < a->heads; h++) {
        float z = vv_index_positive(product(a, vv_index_query(a, row, h), key));
        sum = a->weight ? fmaf(z, a->weight[row * a->heads + h] * a->scale, sum) : sum + z;
    }
    return a->weight ? sum : sum * a->scale;
}

static int score(const struct vv_index_score *a, size_t begin, size_t end, dot *product) {
    size_t rows = vv_rows(a->rows);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % rows, first = unit / rows * VV_INDEX_CHUNK;
        for (size_t b = first; b < first + VV_INDEX_CHUNK && b < vv_index_blocks(a, row); b++) {
            a->score[row * a->stride + b] = score_of(a, row, b, product);
        }
    }
    return VV_OK;
}

int vv_index_score_reference(const void *args, size_t begin, size_t end) {
    return score(args, begin, end, dot_of_floats);
}

int vv_index_score_half_reference(const void *args, size_t begin, size_t end) {
    return score(args, begin, end, dot_of_halves);
}

int vv_index_score_integer_reference(const void *args, size_t begin, size_t end) {
    return score(args, begin, end, dot_of_integers);
}
