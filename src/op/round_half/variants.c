#include "op/buffers.h"
#include "op/round_half/contract.h"
#include "op/round_half/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_round_half *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_round_half *a = args;
    if (out) {
        out[0] = vv_updates(a->x, vv_rows(a->rows) * a->width * sizeof(float));
    }
    return 1;
}

static const struct vv_variant variants[] = {
    {"round_half/reference", VV_CPU_ANY, true, NULL, NULL, vv_round_half_reference},
    {0},
};

const struct vv_operation vv_round_half = {
    "round_half", sizeof(struct vv_round_half), units, buffers, NULL, .variants = variants};

static const struct vv_operation *const operations[] = {&vv_round_half, NULL};

const struct vv_operation_folder vv_folder_round_half = {"round_half", operations,
                                                         vv_round_half_check, NULL};
