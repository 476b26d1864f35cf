#include "op/buffers.h"
#include "op/compress/internal.h"

size_t vv_compress_candidates(const struct vv_compress_rows *a, size_t row,
                              struct vv_candidate *to) {
    size_t n = vv_compress_most(a, row);
    int32_t at = (int32_t)row; /* the window's row of a position, backwards from the last one */
    for (size_t distance = 0; distance < n; distance++) {
        to[n - 1 - distance] = vv_compress_candidate(a, row, distance, at);
        at = at < 0 ? at : a->window->before[at];
    }
    return n;
}

static size_t units(const void *args) {
    return vv_rows(((const struct vv_compress_rows *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_compress_rows *a = args;
    size_t rows = vv_rows(a->rows), channels = vv_compress_channels(a);
    if (out) {
        out[0] = vv_reads(a->k, rows * channels * sizeof(float));
        out[1] = vv_reads(a->g, rows * channels * sizeof(float));
        out[2] = vv_reads_state(&a->ring);
        out[3] = vv_reads(a->ape, a->ratio * channels * sizeof(float));
        out[4] = vv_reads(a->norm, a->width * sizeof(float));
        out[5] = vv_reads(a->turn, a->dims / 2 * sizeof(uint64_t));
        out[6] = vv_updates(a->y, rows * a->width * sizeof(float)); /* written in part */
    }
    return 7;
}

/* Candidates of the rows that complete a block. */
static size_t bytes(const void *args) {
    const struct vv_compress_rows *a = args;
    size_t complete = 0, rows = vv_rows(a->rows), most = a->overlap ? 2 * a->ratio : a->ratio;
    for (size_t r = 0; r < rows; r++) {
        complete += vv_compress_completes(a, r);
    }
    return complete * (3 * most + 2) * a->width * sizeof(float);
}

static const struct vv_variant variants[] = {
    {"compress/reference", VV_CPU_ANY, true, NULL, NULL, vv_compress_reference},
    {"compress/portable", VV_CPU_ANY, true, NULL, NULL, vv_compress_portable},
#if defined(__x86_64__)
    {"compress/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_compress_portable_avx2},
    {"compress/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_compress_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_compress_rows = {
    "compress", sizeof(struct vv_compress_rows), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_compress_rows, NULL};

const struct vv_operation_folder vv_folder_compress = {"compress", operations, vv_compress_check,
                                                       vv_compress_bench};
