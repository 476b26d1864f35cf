#include "op/buffers.h"
#include "op/index_score/internal.h"

static size_t units(const void *args) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows), most = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t blocks = vv_index_blocks(a, r);
        most = blocks > most ? blocks : most;
    }
    return rows * ((most + VV_INDEX_CHUNK - 1) / VV_INDEX_CHUNK);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->q, rows * a->heads * a->width * sizeof(float));
        out[1] = vv_reads_state(&a->pooled);
        /* Written in part, so what was there counts. */
        out[2] = vv_updates(a->score, rows * a->stride * sizeof(float));
    }
    return 3;
}

/* Scored keys, queries and scores. */
static size_t bytes(const void *args) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows), blocks = 0;
    for (size_t r = 0; r < rows; r++) {
        blocks += vv_index_blocks(a, r);
    }
    return (blocks * (a->width + 1) + rows * a->heads * a->width) * sizeof(float);
}

static const struct vv_variant variants[] = {
    {"index_score/reference", VV_CPU_ANY, true, NULL, NULL, vv_index_score_reference},
    {"index_score/portable", VV_CPU_ANY, true, NULL, NULL, vv_index_score_portable},
#if defined(__x86_64__)
    {"index_score/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_index_score_portable_avx2},
    {"index_score/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_index_score_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_index_score = {
    "index_score", sizeof(struct vv_index_score), units, buffers, NULL, variants, .bytes = bytes,
    .varies = true};

static const struct vv_operation *const operations[] = {&vv_index_score, NULL};
const struct vv_operation_folder vv_folder_index_score = {
    "index_score", operations, vv_index_score_check, vv_index_score_bench};
