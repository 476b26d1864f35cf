#include "op/buffers.h"
#include "op/gemv/internal.h"
#include "op/quantize_rows/contract.h"
#include "quant/format.h"

static size_t units(const void *args) {
    return ((const struct vv_gemv *)args)->weight->rows;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_gemv *a = args;
    size_t rows = vv_rows(a->rows), outputs = a->weight->rows;
    size_t n = vv_planes_buffers(&a->x, vv_planes_needed(&a->x, a->weight->type), rows, false, out);
    size_t bytes = vv_extent(rows, a->y_row, outputs) * sizeof(float);
    if (out) {
        /* Where rows are wider than the outputs, what lies between them stays as it is. */
        out[n] = a->y_row == outputs ? vv_writes(a->y, bytes) : vv_updates(a->y, bytes);
    }
    n++;
    if (out && a->weight->scale) {
        out[n] = vv_reads(a->weight->scale, sizeof(float));
    }
    return a->weight->scale ? n + 1 : n;
}

static size_t weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_gemv *)args)->weight;
    }
    return 1;
}

static bool is_quantised(const void *args) {
    return vv_format(((const struct vv_gemv *)args)->weight->type)->arithmetic !=
           VV_ARITHMETIC_FLOAT;
}

static bool fits_panels(const void *args) {
    const struct vv_gemv *a = args;
    return (vv_panel_format(a->weight->type) && !a->x.float_only) || !is_quantised(a);
}

static const struct vv_variant variants[] = {
    {"gemv/reference", VV_CPU_ANY, true, NULL, NULL, vv_gemv_reference},
    {"gemv/rows4", VV_CPU_ANY, true, is_quantised, &vv_layout_rows4, vv_gemv_rows4},
    {"gemv/portable", VV_CPU_ANY, true, NULL, NULL, vv_gemv_portable},
#ifdef __x86_64__
    {"gemv/rows4_avx2", VV_CPU_AVX2, true, is_quantised, &vv_layout_rows4, vv_gemv_rows4_avx2},
    {"gemv/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_gemv_portable_avx2},
    {"gemv/rows4_avx512", VV_CPU_AVX512, true, is_quantised, &vv_layout_rows4,
     vv_gemv_rows4_avx512},
    {"gemv/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_gemv_portable_avx512},
#endif
#define PANELS(set, needs) {"gemv/" #set, needs, true, fits_panels, NULL, vv_gemv_panels_##set},
    VV_PANEL_SETS(PANELS){0},
};

const struct vv_operation vv_gemv = {
    "gemv",
    sizeof(struct vv_gemv),
    units,
    buffers,
    weights,
    .variants = variants,
    .grain = VV_PANEL_ROWS,
};

void vv_gemv_check(struct vv_check *check);
void vv_gemv_bench(struct vv_bench *bench);

static const struct vv_operation *const operations[] = {&vv_gemv, NULL};

const struct vv_operation_folder vv_folder_gemv = {"gemv", operations, vv_gemv_check,
                                                   vv_gemv_bench};
