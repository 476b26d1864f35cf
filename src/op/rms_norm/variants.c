#include "op/buffers.h"
#include "op/rms_norm/contract.h"
#include "op/rms_norm/internal.h"

static size_t units(const void *args) {
    const struct vv_rms_norm *a = args;
    return vv_rows(a->rows) * a->groups;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_rms_norm *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), filled = rows * a->groups * a->width;
    size_t x = vv_extent(rows, a->x_row, (a->groups - 1) * a->x_group + a->width);
    size_t y = vv_extent(rows, a->y_row, (a->groups - 1) * a->y_group + a->width);
    size_t weight = (a->groups - 1) * a->weight_group + a->width;
    out = out ? out : counted;
    out[n++] = vv_reads(a->weight, weight * sizeof(float));
    if (a->x != a->y) {
        out[n++] = vv_reads(a->x, x * sizeof(float));
    }
    out[n++] = a->x == a->y || y != filled ? vv_updates(a->y, y * sizeof(float))
                                           : vv_writes(a->y, y * sizeof(float));
    return n;
}

static const struct vv_variant variants[] = {
    {"rms_norm/reference", VV_CPU_ANY, true, NULL, NULL, vv_rms_norm_reference},
    {"rms_norm/portable", VV_CPU_ANY, true, NULL, NULL, vv_rms_norm_portable},
#if defined(__x86_64__)
    {"rms_norm/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_rms_norm_portable_avx2},
    {"rms_norm/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_rms_norm_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_rms_norm = {"rms_norm", sizeof(struct vv_rms_norm), units, buffers,
                                         NULL,       .variants = variants};

static const struct vv_operation *const operations[] = {&vv_rms_norm, NULL};

const struct vv_operation_folder vv_folder_rms_norm = {"rms_norm", operations, vv_rms_norm_check,
                                                       vv_rms_norm_bench};
