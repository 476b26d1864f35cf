#include "registry/operation.h"

#include <stddef.h>

#define VV_OPERATION_FOLDER(name) extern const struct vv_operation_folder vv_folder_##name;
#include "operation_folders.inc"
#undef VV_OPERATION_FOLDER

const struct vv_operation_folder *const vv_operation_folders[] = {
#define VV_OPERATION_FOLDER(name) &vv_folder_##name,
#include "operation_folders.inc"
#undef VV_OPERATION_FOLDER
    NULL,
};

static bool suits(const struct vv_variant *v, const void *args, uint32_t features) {
    return (v->needs & ~features) == 0 && v->exact && (!v->fits || v->fits(args));
}

static bool lies_in(const struct vv_operation *operation, const void *args,
                    const struct vv_layout *layout) {
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    size_t n = operation->weights ? operation->weights(args, weights) : 0;
    for (size_t i = 0; i < n; i++) {
        if (weights[i]->layout != layout) {
            return false;
        }
    }
    return true;
}

const struct vv_variant *vv_choose_variant(const struct vv_operation *operation, const void *args,
                                           uint32_t features, bool pack) {
    const struct vv_variant *best = NULL, *packed = NULL;
    for (const struct vv_variant *v = operation->variants; v->name; v++) {
        if (!suits(v, args, features)) {
            continue;
        }
        if (lies_in(operation, args, v->layout)) {
            best = v;
        }
        if (pack && v->layout && lies_in(operation, args, NULL)) {
            packed = v;
        }
    }
    return packed ? packed : best;
}

size_t vv_listed_bytes(const struct vv_operation *operation, const void *args, size_t times) {
    struct vv_buffer buffers[VV_BUFFERS_MAX];
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    size_t n = operation->buffers(args, buffers), bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += buffers[i].bytes * (size_t)(buffers[i].read + buffers[i].written);
    }
    n = operation->weights ? operation->weights(args, weights) : 0;
    for (size_t i = 0; i < n; i++) {
        bytes += weights[i]->slices * weights[i]->rows * weights[i]->row_bytes * times;
    }
    return bytes;
}

size_t vv_operation_bytes(const struct vv_operation *operation, const void *args) {
    return operation->bytes ? operation->bytes(args) : vv_listed_bytes(operation, args, 1);
}
