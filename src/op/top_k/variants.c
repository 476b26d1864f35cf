#include "op/buffers.h"
#include "op/top_k/contract.h"
#include "op/top_k/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_top_k *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_top_k *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->score, rows * a->stride * sizeof(float));
        out[1] = vv_writes(a->list, rows * a->keep * sizeof(int32_t));
        out[2] = vv_writes(a->listed, rows * sizeof(int32_t));
    }
    return 3;
}

static size_t bytes(const void *args) {
    const struct vv_top_k *a = args;
    size_t rows = vv_rows(a->rows), blocks = 0;
    for (size_t r = 0; r < rows; r++) {
        blocks += ((size_t)a->window->position[r] + 1) / a->ratio;
    }
    return (blocks + rows * (a->keep + 1)) * sizeof(float);
}

static const struct vv_variant variants[] = {
    {"top_k/reference", VV_CPU_ANY, true, NULL, NULL, vv_top_k_reference},
    {"top_k/portable", VV_CPU_ANY, true, NULL, NULL, vv_top_k_portable},
#if defined(__x86_64__)
    {"top_k/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_top_k_portable_avx2},
    {"top_k/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_top_k_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_top_k = {"top_k",  sizeof(struct vv_top_k), units, buffers, NULL,
                                      variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_top_k, NULL};
const struct vv_operation_folder vv_folder_top_k = {"top_k", operations, vv_top_k_check, NULL};
