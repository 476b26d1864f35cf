#include "op/buffers.h"
#include "op/cache_round/internal.h"

static size_t fp8_units(const void *args) {
    return vv_rows(((const struct vv_round_fp8 *)args)->rows);
}

static size_t fp8_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_round_fp8 *a = args;
    if (out) {
        size_t floats = vv_extent(vv_rows(a->rows), a->stride, a->width);
        out[0] = vv_updates(a->x, floats * sizeof(float));
    }
    return 1;
}

static size_t fp8_bytes(const void *args) {
    const struct vv_round_fp8 *a = args;
    return vv_rows(a->rows) / a->ratio * a->width * 2 * sizeof(float);
}

static size_t fp4_units(const void *args) {
    const struct vv_round_fp4 *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t fp4_row_bytes(const struct vv_round_fp4 *a) {
    return a->heads * (a->width / VV_FP4_BLOCK) * VV_FP4_BYTES;
}

static size_t fp4_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_round_fp4 *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        size_t floats = vv_extent(rows, a->stride, a->heads * a->width);
        out[0] = vv_reads(a->x, floats * sizeof(float));
        /* A state is written in part, as is a buffer if some rows complete nothing. */
        out[1] = !a->y           ? vv_updates_state(&a->to)
                 : a->ratio == 1 ? vv_writes(a->y, rows * fp4_row_bytes(a))
                                 : vv_updates(a->y, rows * fp4_row_bytes(a));
    }
    return 2;
}

static size_t fp4_bytes(const void *args) {
    const struct vv_round_fp4 *a = args;
    size_t floats = a->heads * a->width;
    return vv_rows(a->rows) / a->ratio * (floats * sizeof(float) + fp4_row_bytes(a));
}

static const struct vv_variant fp8_variants[] = {
    {"round_fp8/reference", VV_CPU_ANY, true, NULL, NULL, vv_round_fp8_reference},
    {"round_fp8/portable", VV_CPU_ANY, true, NULL, NULL, vv_round_fp8_portable},
#if defined(__x86_64__)
    {"round_fp8/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_round_fp8_portable_avx2},
    {"round_fp8/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_round_fp8_portable_avx512},
#endif
    {0},
};

static const struct vv_variant fp4_variants[] = {
    {"round_fp4/reference", VV_CPU_ANY, true, NULL, NULL, vv_round_fp4_reference},
    {"round_fp4/portable", VV_CPU_ANY, true, NULL, NULL, vv_round_fp4_portable},
#if defined(__x86_64__)
    {"round_fp4/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_round_fp4_portable_avx2},
    {"round_fp4/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_round_fp4_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_round_fp8 = {
    "round_fp8",  sizeof(struct vv_round_fp8), fp8_units, fp8_buffers, NULL,
    fp8_variants, .bytes = fp8_bytes};
const struct vv_operation vv_round_fp4 = {
    "round_fp4",  sizeof(struct vv_round_fp4), fp4_units, fp4_buffers, NULL,
    fp4_variants, .bytes = fp4_bytes};

static const struct vv_operation *const operations[] = {&vv_round_fp8, &vv_round_fp4, NULL};
const struct vv_operation_folder vv_folder_cache_round = {
    "cache_round", operations, vv_cache_round_check, vv_cache_round_bench};
