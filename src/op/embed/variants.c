#include "op/buffers.h"
#include "op/embed/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_embed *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_embed *a = args;
    size_t rows = vv_rows(a->rows), values = rows * a->streams * a->table->width;
    if (out) {
        out[0] = vv_reads(a->window->token, rows * sizeof(int32_t));
        out[1] = vv_writes(a->x, values * sizeof(float));
    }
    if (out && a->table->scale) {
        out[2] = vv_reads(a->table->scale, sizeof(float));
    }
    return a->table->scale ? 3 : 2;
}

static size_t weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_embed *)args)->table;
    }
    return 1;
}

/* A row of the table for each token. */
static size_t bytes(const void *args) {
    const struct vv_embed *a = args;
    return vv_rows(a->rows) * (a->table->row_bytes + a->streams * a->table->width * sizeof(float));
}

static const struct vv_variant variants[] = {
    {"embed/reference", VV_CPU_ANY, true, NULL, NULL, vv_embed_reference},
    {"embed/once", VV_CPU_ANY, true, NULL, NULL, vv_embed_once},
    {0},
};

const struct vv_operation vv_embed = {"embed",  sizeof(struct vv_embed), units, buffers, weights,
                                      variants, .bytes = bytes};

void vv_embed_check(struct vv_check *check);

static const struct vv_operation *const operations[] = {&vv_embed, NULL};

const struct vv_operation_folder vv_folder_embed = {"embed", operations, vv_embed_check, NULL};
