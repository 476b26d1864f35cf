#include "op/buffers.h"
#include "op/ngram_gate/contract.h"
#include "op/ngram_gate/internal.h"

static size_t units(const void *args) {
    const struct vv_ngram_gate *a = args;
    return vv_rows(a->rows) * a->streams;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_ngram_gate *a = args;
    if (out) {
        size_t row_bytes = a->width * sizeof(float), rows = vv_rows(a->rows);
        out[0] = vv_reads(a->k, rows * a->streams * row_bytes);
        out[1] = vv_reads(a->q, rows * a->streams * row_bytes);
        out[2] = vv_reads(a->v, rows * row_bytes);
        out[3] = vv_writes(a->p, rows * a->streams * row_bytes);
    }
    return 4;
}

static const struct vv_variant variants[] = {
    {"ngram_gate/reference", VV_CPU_ANY, true, NULL, NULL, vv_ngram_gate_reference},
    {"ngram_gate/portable", VV_CPU_ANY, true, NULL, NULL, vv_ngram_gate_portable},
#if defined(__x86_64__)
    {"ngram_gate/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_ngram_gate_portable_avx2},
    {"ngram_gate/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_ngram_gate_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_ngram_gate = {
    "ngram_gate", sizeof(struct vv_ngram_gate), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_ngram_gate, NULL};

const struct vv_operation_folder vv_folder_ngram_gate = {"ngram_gate", operations,
                                                         vv_ngram_gate_check, NULL};
