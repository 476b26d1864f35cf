#include "op/buffers.h"
#include "op/sample/contract.h"
#include "op/sample/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_sample *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_sample *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->logits, rows * a->vocabulary * sizeof(float));
        out[1] = vv_updates(a->token, rows * sizeof(int32_t));
    }
    return 2;
}

static size_t bytes(const void *args) {
    const struct vv_sample *a = args;
    size_t drawn = 0;
    for (size_t r = 0; a->window->draws != VV_DRAWS_NONE && r < vv_rows(a->rows); r++) {
        drawn += a->window->draw[r].wanted != 0;
    }
    return drawn * (a->vocabulary * sizeof(float) + sizeof(int32_t));
}

/* Devices whose memory is the host's have no use for one: sample/sampler.c draws there. */
static const struct vv_variant variants[] = {
    {"sample/reference", VV_CPU_ANY, true, NULL, NULL, vv_sample_reference},
    {0},
};

const struct vv_operation vv_sample = {
    "sample", sizeof(struct vv_sample), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_sample, NULL};
const struct vv_operation_folder vv_folder_sample = {"sample", operations, vv_sample_check,
                                                     vv_sample_bench};
