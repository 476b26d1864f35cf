#include "op/buffers.h"
#include "op/swiglu/internal.h"

static size_t units(const void *args) {
    const struct vv_swiglu *a = args;
    return (vv_rows(a->rows) * a->width + VV_SWIGLU_UNIT - 1) / VV_SWIGLU_UNIT;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_swiglu *a = args;
    size_t bytes = vv_rows(a->rows) * a->width * sizeof(float);
    if (out) {
        out[0] = vv_reads(a->gate, bytes);
        out[1] = vv_reads(a->up, bytes);
        out[2] =
            a->h == a->gate || a->h == a->up ? vv_updates(a->h, bytes) : vv_writes(a->h, bytes);
    }
    return 3;
}

static const struct vv_variant variants[] = {
    {"swiglu/reference", VV_CPU_ANY, true, NULL, NULL, vv_swiglu_reference},
    {"swiglu/portable", VV_CPU_ANY, true, NULL, NULL, vv_swiglu_portable},
#ifdef __x86_64__
    {"swiglu/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_swiglu_portable_avx2},
    {"swiglu/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_swiglu_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_swiglu = {
    "swiglu", sizeof(struct vv_swiglu), units, buffers, NULL, .variants = variants,
};

void vv_swiglu_check(struct vv_check *check);

static const struct vv_operation *const operations[] = {&vv_swiglu, NULL};

const struct vv_operation_folder vv_folder_swiglu = {"swiglu", operations, vv_swiglu_check, NULL};
