#include "op/buffers.h"
#include "op/conv1d/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_conv1d *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_conv1d *a = args;
    if (out) {
        size_t bytes = vv_rows(a->rows) * a->channels * sizeof(float);
        out[0] = vv_reads(a->x, bytes);
        out[1] = vv_reads_state(&a->history);
        out[2] = vv_reads(a->weight, a->channels * a->kernel * sizeof(float));
        out[3] = vv_reads(a->p, bytes);
        out[4] = vv_updates(a->onto, bytes);
    }
    return 5;
}

static size_t bytes(const void *args) {
    const struct vv_conv1d *a = args;
    size_t rows = vv_rows(a->rows), sequences = (size_t)a->window->sequences;
    size_t before = sequences * (a->kernel - 1) * a->dilation;
    return (4 * rows + before + a->kernel) * a->channels * sizeof(float);
}

static const struct vv_variant variants[] = {
    {"conv1d/reference", VV_CPU_ANY, true, NULL, NULL, vv_conv1d_reference},
    {"conv1d/portable", VV_CPU_ANY, true, NULL, NULL, vv_conv1d_portable},
#if defined(__x86_64__)
    {"conv1d/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_conv1d_portable_avx2},
    {"conv1d/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_conv1d_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_conv1d = {
    "conv1d", sizeof(struct vv_conv1d), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_conv1d, NULL};

const struct vv_operation_folder vv_folder_conv1d = {"conv1d", operations, vv_conv1d_check, NULL};
