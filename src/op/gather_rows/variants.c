#include "op/buffers.h"
#include "op/gather_rows/contract.h"
#include "op/gather_rows/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_gather_rows *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_gather_rows *a = args;
    if (out) {
        out[0] = vv_reads(a->from, vv_rows(a->from_rows) * a->row_bytes);
        out[1] = vv_writes(a->to, vv_rows(a->rows) * a->row_bytes);
    }
    return 2;
}

static const struct vv_variant variants[] = {
    {"gather_rows/reference", VV_CPU_ANY, true, NULL, NULL, vv_gather_rows_reference},
    {0},
};

const struct vv_operation vv_gather_rows = {
    "gather_rows", sizeof(struct vv_gather_rows), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_gather_rows, NULL};

const struct vv_operation_folder vv_folder_gather_rows = {"gather_rows", operations,
                                                          vv_gather_rows_check, NULL};
