#include "op/quantize_rows/internal.h"

static size_t units(const void *args) {
    const struct vv_quantize_rows *a = args;
    return vv_rows(a->rows) * vv_plane_scales(a->planes.width, VV_COARSE_UNIT);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_quantize_rows *a = args;
    unsigned made =
        (a->planes.coarse_q ? VV_PLANES_COARSE : 0u) | (a->planes.fine_q ? VV_PLANES_FINE : 0u);
    size_t rows = vv_rows(a->rows);
    size_t n = vv_planes_buffers(&a->planes, VV_PLANES_X, rows, false, out);
    return n + vv_planes_buffers(&a->planes, made, rows, true, out ? out + n : NULL);
}

static const struct vv_variant variants[] = {
    {"quantize_rows/reference", VV_CPU_ANY, true, NULL, NULL, vv_quantize_rows_reference},
    {"quantize_rows/portable", VV_CPU_ANY, true, NULL, NULL, vv_quantize_rows_portable},
#ifdef __x86_64__
    {"quantize_rows/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_quantize_rows_portable_avx2},
    {"quantize_rows/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_quantize_rows_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_quantize_rows = {
    "quantize_rows", sizeof(struct vv_quantize_rows), units, buffers, NULL, .variants = variants,
};

void vv_quantize_rows_check(struct vv_check *check);
void vv_quantize_rows_bench(struct vv_bench *bench);

static const struct vv_operation *const operations[] = {&vv_quantize_rows, NULL};

const struct vv_operation_folder vv_folder_quantize_rows = {
    "quantize_rows", operations, vv_quantize_rows_check, vv_quantize_rows_bench};
