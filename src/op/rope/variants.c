#include "op/rope/contract.h"
#include "op/rope/internal.h"
#include "op/rotated.h"

static size_t units(const void *args) {
    const struct vv_rope *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_rope *a = args;
    return vv_rotated_buffers((struct vv_rotated){a->x, vv_rows(a->rows), a->heads, a->row_stride,
                                                  a->head_stride, a->dims, a->turn},
                              out);
}

static const struct vv_variant variants[] = {
    {"rope/reference", VV_CPU_ANY, true, NULL, NULL, vv_rope_reference},
    {"rope/portable", VV_CPU_ANY, true, NULL, NULL, vv_rope_portable},
#if defined(__x86_64__)
    {"rope/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_rope_portable_avx2},
    {"rope/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_rope_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_rope = {"rope", sizeof(struct vv_rope), units, buffers,
                                     NULL,   .variants = variants};

static const struct vv_operation *const operations[] = {&vv_rope, NULL};

const struct vv_operation_folder vv_folder_rope = {"rope", operations, vv_rope_check, NULL};
