/* The operations' variants and what they share, for this folder alone. */
#pragma once
#include "base/math.h"
#include "op/index_score/contract.h"
#include "registry/check.h"

enum { VV_INDEX_CHUNK = 64 }; /* blocks a unit */

/* Blocks of row r that are scored: 0 if it attends to everything. */
static inline size_t vv_index_blocks(const struct vv_index_score *a, size_t r) {
    size_t blocks = ((size_t)a->window->position[r] + 1) / a->ratio;
    return blocks > a->keep ? blocks : 0;
}

static inline const void *vv_index_query(const struct vv_index_score *a, size_t row, size_t head) {
    size_t bytes = vv_state_entry_bytes(a->q_type, a->width);
    return (const uint8_t *)a->q + (row * a->heads + head) * bytes;
}

/* max(z, 0), which lets NaN through. */
static inline float vv_index_positive(float z) {
    return z < 0.0f ? 0.0f : z;
}

/* Scores blocks `first` … `first + count - 1` of a row, at most VV_INDEX_CHUNK. `work` is whatever
 * the caller of vv_index_units keeps from one unit to the next. */
typedef void vv_index_unit(const struct vv_index_score *a, size_t row, size_t first, size_t count,
                           void *work);

/* Calls `score` for units begin … end - 1. */
static inline int vv_index_units(const struct vv_index_score *a, size_t begin, size_t end,
                                 vv_index_unit *score, void *work) {
    size_t rows = vv_rows(a->rows);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % rows, first = unit / rows * VV_INDEX_CHUNK;
        size_t blocks = vv_index_blocks(a, row);
        if (first < blocks) {
            size_t left = blocks - first;
            score(a, row, first, left < VV_INDEX_CHUNK ? left : VV_INDEX_CHUNK, work);
        }
    }
    return VV_OK;
}

int vv_index_score_reference(const void *args, size_t begin, size_t end);
int vv_index_score_portable(const void *args, size_t begin, size_t end);
int vv_index_score_portable_avx2(const void *args, size_t begin, size_t end);
int vv_index_score_portable_avx512(const void *args, size_t begin, size_t end);

int vv_index_score_half_reference(const void *args, size_t begin, size_t end);
int vv_index_score_half_portable(const void *args, size_t begin, size_t end);
int vv_index_score_half_portable_avx2(const void *args, size_t begin, size_t end);
int vv_index_score_half_portable_avx512(const void *args, size_t begin, size_t end);

int vv_index_score_integer_reference(const void *args, size_t begin, size_t end);
int vv_index_score_integer_portable(const void *args, size_t begin, size_t end);
int vv_index_score_integer_avx2(const void *args, size_t begin, size_t end);
int vv_index_score_integer_avxvnni(const void *args, size_t begin, size_t end);
int vv_index_score_integer_avx512vnni(const void *args, size_t begin, size_t end);
int vv_index_score_integer_amx(const void *args, size_t begin, size_t end);
int vv_index_score_integer_neon(const void *args, size_t begin, size_t end);
int vv_index_score_integer_dotprod(const void *args, size_t begin, size_t end);
int vv_index_score_integer_i8mm(const void *args, size_t begin, size_t end);

void vv_index_score_check(struct vv_check *check);
void vv_index_score_bench(struct vv_bench *bench);
