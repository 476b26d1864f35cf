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
        .folder_done = options->folder_done,
        .failure = options->failure,
        .context = options->context,
    };
    return vv_check_run(&inner, passed, failed, vv_internal(error));
}

static void list_operation(const struct vv_operation *operation,
                           void (*each)(void *context, const char *variant, bool here),
                           void *context) {
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        each(context, v->name, vv_variant_runs(v, vv_cpu_features()));
    }
}

void varve_check_list(void (*each)(void *context, const char *variant, bool here), void *context) {
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        for (const struct vv_operation *const *o = (*f)->operations; *o; o++) {
            list_operation(*o, each, context);
        }
    }
}
