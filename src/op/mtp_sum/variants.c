#include "op/buffers.h"
#include "op/mtp_sum/contract.h"
#include "op/mtp_sum/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_mtp_sum *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_mtp_sum *a = args;
    if (out) {
        size_t bytes = vv_rows(a->rows) * a->width * sizeof(float);
        out[0] = vv_reads(a->e, bytes);
        out[1] = vv_updates(a->x, bytes * a->streams);
    }
    return 2;
}

static const struct vv_variant variants[] = {
    {"mtp_sum/reference", VV_CPU_ANY, true, NULL, NULL, vv_mtp_sum_reference},
    {0},
};

const struct vv_operation vv_mtp_sum = {"mtp_sum", sizeof(struct vv_mtp_sum), units, buffers,
                                        NULL,      .variants = variants};

static const struct vv_operation *const operations[] = {&vv_mtp_sum, NULL};

const struct vv_operation_folder vv_folder_mtp_sum = {"mtp_sum", operations, vv_mtp_sum_check,
                                                      NULL};
