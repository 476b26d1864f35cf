#include "op/buffers.h"
#include "op/index_pool/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_index_pool *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_index_pool *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->k, rows * a->width * sizeof(float));
        out[1] = vv_reads_state(&a->ring);
        out[2] = vv_reads(a->norm, a->width * sizeof(float));
        out[3] = vv_reads(a->turn, a->dims / 2 * sizeof(uint64_t));
        /* Written in part, so what was there counts. */
        out[4] = vv_updates_state(&a->pooled);
    }
    return 5;
}

static size_t bytes(const void *args) {
    const struct vv_index_pool *a = args;
    return vv_rows(a->rows) * a->width * 2 * sizeof(float); /* an entry for every `ratio` rows */
}

static const struct vv_variant variants[] = {
    {"index_pool/reference", VV_CPU_ANY, true, NULL, NULL, vv_index_pool_reference},
    {"index_pool/portable", VV_CPU_ANY, true, NULL, NULL, vv_index_pool_portable},
#if defined(__x86_64__)
    {"index_pool/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_index_pool_portable_avx2},
    {"index_pool/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_index_pool_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_index_pool = {
    "index_pool", sizeof(struct vv_index_pool), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_index_pool, NULL};
const struct vv_operation_folder vv_folder_index_pool = {"index_pool", operations,
                                                         vv_index_pool_check, NULL};
