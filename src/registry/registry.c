#include "registry/operation.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define VV_OPERATION_FOLDER(name) extern const struct vv_operation_folder vv_folder_##name;
#include "operation_folders.inc"
#undef VV_OPERATION_FOLDER

const struct vv_operation_folder *const vv_operation_folders[] = {
#define VV_OPERATION_FOLDER(name) &vv_folder_##name,
#include "operation_folders.inc"
#undef VV_OPERATION_FOLDER
    NULL,
};

/* ---- variants ---- */

enum { MODULES_MOST = 4 };
static const struct vv_more_variants *modules[MODULES_MOST];
static size_t module_count;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

void vv_add_variants(const struct vv_more_variants *list) {
    pthread_mutex_lock(&modules_lock);
    size_t i = 0;
    while (i < module_count && modules[i] != list) {
        i++;
    }
    if (i == module_count && i < MODULES_MOST) {
        modules[module_count++] = list;
    }
    pthread_mutex_unlock(&modules_lock);
}

static size_t count_variants(const struct vv_variant *list) {
    size_t n = 0;
    while (list[n].name) {
        n++;
    }
    return n;
}

const struct vv_variant *vv_variant_at(const struct vv_operation *operation, size_t index) {
    size_t own = count_variants(operation->variants);
    if (index < own) {
        return &operation->variants[index];
    }
    index -= own;
    for (size_t m = 0; m < module_count; m++) {
        for (const struct vv_more_variants *more = modules[m]; more->operation; more++) {
            if (strcmp(more->operation, operation->name) == 0) {
                size_t n = count_variants(more->variants);
                if (index < n) {
                    return &more->variants[index];
                }
                index -= n;
            }
        }
    }
    return NULL;
}

/* ---- the choice ---- */

bool vv_variant_runs(const struct vv_variant *variant, uint32_t features) {
    bool launched = (features & VV_CUDA_ANY) != 0;
    return (variant->needs & ~features) == 0 && launched == (variant->launch != NULL);
}

static bool suits(const struct vv_variant *v, const void *args, uint32_t features) {
    return vv_variant_runs(v, features) && v->exact && (!v->fits || v->fits(args));
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
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
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
