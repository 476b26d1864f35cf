#include "op/buffers.h"
#include "op/rope_pairs/contract.h"
#include "op/rope_pairs/internal.h"

static size_t units(const void *args) {
    const struct vv_rope_pairs *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_rope_pairs *a = args;
    if (out) {
        size_t within = (a->heads - 1) * a->head_stride + a->dims;
        size_t x = vv_extent(vv_rows(a->rows), a->row_stride, within);
        out[0] = vv_updates(a->x, x * sizeof(float));
        out[1] = vv_reads(a->turn, a->dims / 2 * sizeof(uint64_t));
    }
    return 2;
}

static const struct vv_variant variants[] = {
    {"rope_pairs/reference", VV_CPU_ANY, true, NULL, NULL, vv_rope_pairs_reference},
    {"rope_pairs/portable", VV_CPU_ANY, true, NULL, NULL, vv_rope_pairs_portable},
#if defined(__x86_64__)
    {"rope_pairs/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_rope_pairs_portable_avx2},
    {"rope_pairs/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_rope_pairs_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_rope_pairs = {
    "rope_pairs", sizeof(struct vv_rope_pairs), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_rope_pairs, NULL};

const struct vv_operation_folder vv_folder_rope_pairs = {"rope_pairs", operations,
                                                         vv_rope_pairs_check, vv_rope_pairs_bench};
