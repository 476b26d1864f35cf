#include "op/embed/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_embed *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_embed *a = args;
    size_t rows = vv_rows(a->rows), values = rows * a->streams * a->table->width;
    if (out) {
        out[0] = (struct vv_buffer){a->window->token, rows * sizeof(int32_t), true, false};
        out[1] = (struct vv_buffer){a->x, values * sizeof(float), false, true};
    }
    if (out && a->table->scale) {
        out[2] = (struct vv_buffer){a->table->scale, sizeof(float), true, false};
    }
    return a->table->scale ? 3 : 2;
}

static size_t weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_embed *)args)->table;
    }
    return 1;
}

static const struct vv_variant variants[] = {
    {"embed/reference", VV_CPU_ANY, true, NULL, NULL, vv_embed_reference},
    {"embed/once", VV_CPU_ANY, true, NULL, NULL, vv_embed_once},
    {0},
};

const struct vv_operation vv_embed = {
    "embed", sizeof(struct vv_embed), units, buffers, weights, variants,
};

void vv_embed_check(struct vv_check *check);

static const struct vv_operation *const operations[] = {&vv_embed, NULL};

const struct vv_operation_folder vv_folder_embed = {"embed", operations, vv_embed_check};
