#include "op/rope_pairs/contract.h"
#include "op/rope_pairs/internal.h"
#include "op/rotated.h"

static size_t units(const void *args) {
    const struct vv_rope_pairs *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_rope_pairs *a = args;
    return vv_rotated_buffers((struct vv_rotated){a->x, vv_rows(a->rows), a->heads, a->row_stride,
                                                  a->head_stride, a->dims, a->turn},
                              out);
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
