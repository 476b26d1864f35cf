#include "op/buffers.h"
#include "op/mtp_join/contract.h"
#include "op/mtp_join/internal.h"

static size_t units(const void *args) {
    const struct vv_mtp_join *a = args;
    return vv_rows(a->rows) * a->streams;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_mtp_join *a = args;
    if (out) {
        size_t row_bytes = a->width * sizeof(float), rows = vv_rows(a->rows);
        out[0] = vv_reads(a->e, rows * row_bytes);
        out[1] = vv_reads(a->h, rows * a->streams * row_bytes);
        out[2] = vv_writes(a->y, rows * a->streams * 2 * row_bytes);
    }
    return 3;
}

static const struct vv_variant variants[] = {
    {"mtp_join/reference", VV_CPU_ANY, true, NULL, NULL, vv_mtp_join_reference},
    {0},
};

const struct vv_operation vv_mtp_join = {"mtp_join", sizeof(struct vv_mtp_join), units, buffers,
                                         NULL,       .variants = variants};

static const struct vv_operation *const operations[] = {&vv_mtp_join, NULL};

const struct vv_operation_folder vv_folder_mtp_join = {"mtp_join", operations, vv_mtp_join_check,
                                                       NULL};
