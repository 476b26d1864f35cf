#include "op/index_score/internal.h"
#include "op/plain.h"

static float score_of(const struct vv_index_score *a, size_t row, size_t block) {
    const float *key = vv_state_at(&a->pooled, a->window->slot[row], (int64_t)block);
    float sum = 0.0f;
    for (size_t h = 0; h < a->heads; h++) {
        float z = vv_plain_dot(key, a->q + (row * a->heads + h) * a->width, a->width);
        sum += z < 0.0f ? 0.0f : z;
    }
    return sum * a->scale;
}

int vv_index_score_reference(const void *args, size_t begin, size_t end) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % rows, first = unit / rows * VV_INDEX_CHUNK;
        for (size_t b = first; b < first + VV_INDEX_CHUNK && b < vv_index_blocks(a, row); b++) {
            a->score[row * a->stride + b] = score_of(a, row, b);
        }
    }
    return VV_OK;
}
