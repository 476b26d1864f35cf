#include "op/mtp_wide/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_mtp_wide *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_mtp_wide *a = args;
    if (out) {
        out[0] = (struct vv_buffer){a->wide, a->wide_rows * a->width * sizeof(float), true, false};
        out[1] = (struct vv_buffer){a->ring.base, a->ring.bytes, true, false};
        out[2] = (struct vv_buffer){a->h, vv_rows(a->rows) * a->width * sizeof(float), false, true};
    }
    return 3;
}

static size_t bytes(const void *args) {
    const struct vv_mtp_wide *a = args;
    return vv_rows(a->rows) * a->width * 2 * sizeof(float);
}

/* A copy: nothing is faster than the reference's memcpy. */
static const struct vv_variant variants[] = {
    {"mtp_wide/reference", VV_CPU_ANY, true, NULL, NULL, vv_mtp_wide_reference},
    {0},
};

const struct vv_operation vv_mtp_wide = {
    "mtp_wide", sizeof(struct vv_mtp_wide), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_mtp_wide, NULL};

void vv_check_mtp_wide(struct vv_check *check);

const struct vv_operation_folder vv_folder_mtp_wide = {"mtp_wide", operations, vv_check_mtp_wide,
                                                       NULL};
