#include "op/buffers.h"
#include "op/hyper_write/contract.h"
#include "op/hyper_write/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_hyper_write *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_hyper_write *a = args;
    if (out) {
        size_t rows = vv_rows(a->rows);
        out[0] = vv_updates(a->x, rows * a->streams * a->width * sizeof(float));
        out[1] = vv_reads(a->o, rows * a->width * sizeof(float));
        out[2] = vv_reads(a->gamma, rows * a->streams * sizeof(float));
    }
    return 3;
}

static const struct vv_variant variants[] = {
    {"hyper_write/reference", VV_CPU_ANY, true, NULL, NULL, vv_hyper_write_reference},
    {"hyper_write/portable", VV_CPU_ANY, true, NULL, NULL, vv_hyper_write_portable},
#if defined(__x86_64__)
    {"hyper_write/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_hyper_write_portable_avx2},
    {"hyper_write/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_hyper_write_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_hyper_write = {
    "hyper_write", sizeof(struct vv_hyper_write), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_hyper_write, NULL};

const struct vv_operation_folder vv_folder_hyper_write = {"hyper_write", operations,
                                                          vv_hyper_write_check, NULL};
