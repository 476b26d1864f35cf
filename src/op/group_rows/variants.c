#include "op/buffers.h"
#include "op/group_rows/contract.h"
#include "op/group_rows/internal.h"

static size_t units(const void *args) {
    (void)args;
    return 1;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_group_rows *a = args;
    if (out) {
        out[0] = vv_writes(a->active, (1 + a->groups) * sizeof(int32_t));
        out[1] = vv_writes(a->begin, (1 + a->groups) * sizeof(int32_t));
        out[2] = vv_writes(a->pair, vv_rows(a->rows) * a->groups * sizeof(int32_t));
    }
    return 3;
}

static const struct vv_variant variants[] = {
    {"group_rows/reference", VV_CPU_ANY, true, NULL, NULL, vv_group_rows_reference},
    {0},
};

const struct vv_operation vv_group_rows = {
    "group_rows", sizeof(struct vv_group_rows), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_group_rows, NULL};

const struct vv_operation_folder vv_folder_group_rows = {"group_rows", operations,
                                                         vv_group_rows_check, NULL};
