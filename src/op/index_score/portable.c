/*
 * The 64 keys of a unit against all heads (base/dots.h): 32 KB of keys at width 128, which stay in
 * the first cache for the units of other rows of the same sequence.
 */
#include "base/dots.h"
#include "base/isa.h"
#include "op/index_score/internal.h"

enum { HEADS = 4 };

static void score_chunk(const struct vv_index_score *a, size_t row, size_t first, size_t count) {
    const float *key[VV_INDEX_CHUNK], *q = a->q + row * a->heads * a->width;
    float sum[VV_INDEX_CHUNK] = {0}, *score = a->score + row * a->stride + first;
    for (size_t b = 0; b < count; b++) {
        key[b] = vv_state_at(&a->pooled, a->window->slot[row], (int64_t)(first + b));
    }
    for (size_t h = 0; h < a->heads; h += HEADS) {
        float z[HEADS][VV_INDEX_CHUNK] = {{0}};
        size_t heads = a->heads - h < HEADS ? a->heads - h : HEADS;
        for (size_t at = 0; at < a->width; at += VV_SEGMENT) {
            size_t n = a->width - at < VV_SEGMENT ? a->width - at : VV_SEGMENT;
            vv_dots_segment(key, count, at, n, q + h * a->width, a->width, heads, z[0],
                            VV_INDEX_CHUNK);
        }
        for (size_t i = 0; i < heads; i++) {
            for (size_t b = 0; b < VV_INDEX_CHUNK; b++) {
                sum[b] += z[i][b] < 0.0f ? 0.0f : z[i][b];
            }
        }
    }
    for (size_t b = 0; b < count; b++) {
        score[b] = sum[b] * a->scale;
    }
}

int VV_ISA(vv_index_score_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % rows, first = unit / rows * VV_INDEX_CHUNK;
        size_t blocks = vv_index_blocks(a, row);
        if (first < blocks) {
            size_t left = blocks - first;
            score_chunk(a, row, first, left < VV_INDEX_CHUNK ? left : VV_INDEX_CHUNK);
        }
    }
    return VV_OK;
}
