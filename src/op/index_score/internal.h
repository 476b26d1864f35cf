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
int vv_index_score_integer_neon(const void *args, size_t begin, size_t end);
int vv_index_score_integer_dotprod(const void *args, size_t begin, size_t end);

void vv_index_score_check(struct vv_check *check);
void vv_index_score_bench(struct vv_bench *bench);
