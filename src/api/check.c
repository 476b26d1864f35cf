/* Checks of the operations. */
#include "tune/check.h"
#include "api/internal.h"
#include "registry/operation.h"

int varve_check(const struct varve_check_options *options, size_t *passed, size_t *failed,
                struct varve_error *error) {
    const struct vv_check_options inner = {
        .device = (enum vv_device_kind)options->device,
        .folder = options->operation,
        .variant = options->variant,
        .seed = options->seed,
        .quick = options->quick,
        .cases = options->cases,
        .folder_done = options->folder_done,
        .failure = options->failure,
        .context = options->context,
    };
    return vv_check_run(&inner, passed, failed, vv_internal(error));
}

struct listing {
    void (*each)(void *context, const char *variant, bool here);
    void *context;
    uint32_t features;
    bool launched; /* variants that launch kernels, else those that are called */
};

static void list_operation(const struct listing *l, const struct vv_operation *operation) {
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        if ((v->launch != NULL) == l->launched) {
            l->each(l->context, v->name, vv_variant_runs(v, l->features));
        }
    }
}

int varve_check_list(enum varve_device device,
                     void (*each)(void *context, const char *variant, bool here), void *context,
                     struct varve_error *error) {
    struct listing l = {each, context, vv_cpu_features(), false};
    if (device == VARVE_DEVICE_CUDA || device == VARVE_DEVICE_CUDA_EMULATED) {
        struct vv_device *opened = NULL;
        int code = vv_device_open((enum vv_device_kind)device, NULL, &opened, vv_internal(error));
        if (code != VV_OK) {
            return code;
        }
        l.features = opened->features;
        l.launched = true;
        opened->calls->close(opened);
    }
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        for (const struct vv_operation *const *o = (*f)->operations; *o; o++) {
            list_operation(&l, *o);
        }
    }
    return VV_OK;
}
